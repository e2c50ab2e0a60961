"""Whole runs of Snakemake killed: the next one completes, and nobody has to unlock anything."""

import json
import os
import shutil
import signal
import subprocess
import sys

import pytest
from kill_bench import (
    KILLS,
    assert_all_dead,
    assert_nothing_half_written,
    seeded,
    survivors,
    wait_until,
)
from nsys_tool import ROOT, real_nsys
from workflow_copy import PARTS, copy_workflow, snakemake

QUICK = "measure={warmup: 1, iterations: 2, timing: {max_seconds: 1, max_samples: 5, min_samples: 3}}"
WAYS = ("Ctrl-C", "SIGKILL of snakemake", "SIGTERM of snakemake", "SIGKILL of all")


def start(folder, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "snakemake", "--cores", "1", *arguments],
        cwd=folder,
        stdout=(folder / "said.txt").open("w"),
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def kill(process, way):
    if way == "Ctrl-C":
        os.killpg(process.pid, signal.SIGINT)
    elif way == "SIGKILL of all":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.send_signal(signal.SIGTERM if "TERM" in way else signal.SIGKILL)
    return process.wait(timeout=60)


def test_a_run_killed_again_and_again_completes_in_the_end(tmp_path):
    """All rules as they are, with torch and nsys, on a small workload."""
    pytest.importorskip("torch")
    nsys, folder = real_nsys(), tmp_path / "run"
    folder.mkdir()
    for part in (*PARTS, "tests/data/tiny.py"):
        (folder / part).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, folder / part)
    settings = ["device=cpu", "workloads=[{file: tests/data/tiny.py}]", QUICK, f"nsys={{path: {nsys}}}"]
    moments = seeded("workflow")
    for number in range(max(4, KILLS // 14)):
        way = WAYS[number % len(WAYS)]
        process = start(folder, "--config", *settings)
        wait_until(lambda p=process: p.poll() is not None, moments.uniform(1.0, 6.0))
        if process.poll() is None:
            assert kill(process, way) != 0
        assert_all_dead(folder)
        for case in (folder / "reports/local/captures/tiny").glob("*"):
            assert_nothing_half_written(case)
    finished = snakemake(folder, "--config", *settings)
    assert finished.returncode == 0, finished.stdout
    assert "unlock" not in finished.stdout
    assert json.loads((folder / "reports/local/verdict.json").read_text())["verdict"] == "verified"
    assert [p for p in (folder / "reports").rglob(".*") if p.name != ".snakemake_timestamp"] == []


@pytest.fixture
def workflow(tmp_path):
    """Stand-ins for all scripts; the one of timing says that it is at work, and is long about it."""
    folder = copy_workflow(tmp_path / "copy")
    script = folder / "scripts/timing.py"
    slow = "import pathlib, time; pathlib.Path('at-work').touch(); time.sleep(60)\n"
    (folder / "timing.py").write_text(script.read_text())
    script.write_text("from kernel_ledger import entry\n" + f"entry.run(lambda: exec({slow!r}))\n")
    return folder


def begin(folder):
    process = start(folder, "--config", "device=cpu")
    assert wait_until(lambda: (folder / "at-work").exists(), 30), (folder / "said.txt").read_text()
    return process


def make_quick(folder):
    shutil.copy(folder / "timing.py", folder / "scripts/timing.py")


def test_after_sigkill_the_script_ends_and_the_stale_lock_is_removed_in_one_line(workflow):
    kill(begin(workflow), "SIGKILL of snakemake")
    assert_all_dead(workflow)
    assert list((workflow / ".snakemake/locks").glob("*.lock"))
    make_quick(workflow)
    finished = snakemake(workflow, "--config", "device=cpu")
    assert finished.returncode == 0, finished.stdout
    assert finished.stdout.count("was killed; the lock that it left is removed") == 1


def test_a_second_run_in_the_folder_is_refused_and_told_who_is_at_work(workflow):
    first = begin(workflow)
    second = snakemake(workflow, "--config", "device=cpu")
    assert second.returncode != 0
    assert f"at work in this folder: snakemake, process {first.pid}, since 20" in second.stdout
    assert "is removed" not in second.stdout and first.poll() is None
    assert snakemake(workflow, "--dry-run", "--config", "device=cpu").returncode == 0
    kill(first, "Ctrl-C")
    assert_all_dead(workflow)
    make_quick(workflow)
    finished = snakemake(workflow, "--config", "device=cpu")
    assert finished.returncode == 0 and "lock" not in finished.stdout, finished.stdout
    assert not survivors(workflow)
