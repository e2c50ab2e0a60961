"""A killed pass: its measured process dies too, and nothing half-written is taken for a result."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from pass_runs import ROOT, change_plan, command, hidden, run_script, write_plan

pytest.importorskip("torch")

NSYS = next(iter(sorted((ROOT / "tools" / "nsys").glob("*/bin/nsys"), reverse=True)), None)


def measured_processes(plan):
    """Processes whose command line names the study's folder, as pids; launchers are not among them."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if "kernel_ledger.passes" in words and any(str(plan.parent) in word for word in words):
            found.append(int(entry.name))
    return found


def wait_until(condition, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return value


def kill_while_measuring(root, plan, case, script, number, delay):
    words, folder = command(root, script, plan, case, "other" if script == "torch_pass" else None)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    launcher = subprocess.Popen(words, cwd=root, env=environment, stderr=subprocess.DEVNULL)
    assert wait_until(lambda: measured_processes(plan))
    time.sleep(delay)
    launcher.send_signal(number)
    status = launcher.wait(timeout=60)
    assert wait_until(lambda: not measured_processes(plan)), "the measured process outlived its launcher"
    return status, folder


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("script", ["numerics", "timing", "torch_pass"])
def test_a_killed_pass_leaves_no_process_and_no_result(tmp_path, script, number):
    plan, case = write_plan(tmp_path, spoil="hang")
    status, folder = kill_while_measuring(tmp_path, plan, case, script, number, delay=1.0)
    assert status != 0
    assert [p.name for p in folder.iterdir() if not p.name.startswith(".")] == []


@pytest.mark.skipif(NSYS is None, reason="no nsys in tools/nsys (.ci/install-nsys makes it)")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_process_measured_under_nsys_dies_with_the_launcher(tmp_path, number):
    plan, case = write_plan(tmp_path, nsys_path=str(NSYS), spoil="hang")
    status, folder = kill_while_measuring(tmp_path, plan, case, "nsys_pass", number, delay=3.0)
    assert status != 0 and not (folder / "nsys").exists()


def test_the_run_after_a_kill_completes_and_tidies_up(tmp_path):
    plan, case = write_plan(tmp_path, spoil="hang")
    _, folder = kill_while_measuring(tmp_path, plan, case, "timing", signal.SIGKILL, delay=0.5)
    assert hidden(folder)
    plan, healthy = write_plan(tmp_path)
    os.rename(folder, folder.with_name(healthy))
    change_plan(plan, iterations=2)
    _, folder = run_script(tmp_path, "timing", plan, healthy)
    assert hidden(folder) == [] and (folder / "run.json").exists()


@pytest.mark.skipif(NSYS is None, reason="no nsys in tools/nsys (.ci/install-nsys makes it)")
def test_the_nsys_pass_leaves_a_report_a_log_and_a_record(tmp_path):
    plan, case = write_plan(tmp_path, nsys_path=str(NSYS))
    stale = plan.parent / "tiny" / case / "nsys"
    stale.mkdir(parents=True)
    (stale / "report.sqlite").write_text("of an older report")
    _, folder = run_script(tmp_path, "nsys_pass", plan, case, SECRET_TOKEN="planted-value")
    assert sorted(os.listdir(folder / "nsys")) == ["log.txt", "report.nsys-rep", "run.json"]
    text = (folder / "nsys" / "run.json").read_text()
    assert '"tiny/copy": 3' in text and "NVTX_INJECTION64_PATH" in text and '"nsys": "20' in text
    assert b"planted-value" not in (folder / "nsys" / "report.nsys-rep").read_bytes()
