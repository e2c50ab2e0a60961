"""A recording is exported by the version that recorded it, in a fresh folder, or refused."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from nsys_tool import ROOT, real_nsys

from kernel_ledger import lifeline, process
from kernel_ledger.environment import allowed
from kernel_ledger.errors import EvidenceError, MachineError
from kernel_ledger.nsys.database import all_text, read_sqlite
from kernel_ledger.nsys.export import export, export_nothing
from kernel_ledger.nsys.find import Nsys, find
from kernel_ledger.nsys.record import profile_command
from kernel_ledger.nsys.tables import COLUMNS, range_name, read_stats_csv

PROGRAM = """
import nvtx
for _ in range(3):
    with nvtx.annotate("w/eager", domain="kernel_ledger"):
        pass
"""


@pytest.fixture(scope="session")
def recording(tmp_path_factory) -> Path:
    """A report of three NVTX ranges in our domain, recorded by the real tool."""
    pytest.importorskip("nvtx")
    report = tmp_path_factory.mktemp("recording") / "report.nsys-rep"
    command = profile_command(real_nsys(), report, [sys.executable, "-c", PROGRAM], device="cpu")
    done = process.run(command, environment=allowed(os.environ), timeout_s=60)
    assert report.exists(), done.output
    return report


@pytest.fixture
def nsys() -> Nsys:
    return find(str(real_nsys()), os.environ)


@pytest.fixture
def folder(tmp_path, recording) -> Path:
    folder = tmp_path / "a 'b' $c" / "nsys"
    folder.mkdir(parents=True)
    (folder / "report.nsys-rep").write_bytes(recording.read_bytes())
    return folder


def run_export(folder, nsys, *, device="cpu", recorder="same"):
    return export(
        folder,
        nsys,
        device=device,
        recorder_version=nsys.version_text if recorder == "same" else recorder,
        environment=allowed(os.environ),
        timeout_s=60,
    )


def test_a_recording_on_the_cpu_has_its_ranges_and_rightly_no_kernels(folder, nsys):
    record = run_export(folder, nsys)
    assert {name: r["status"] for name, r in record["reports"].items()} == {
        "nvtx_sum.csv": "ok",
        "nvtx_gpu_proj_sum.csv": "empty",
        "nvtx_kern_sum.csv": "empty",
        "cuda_gpu_kern_sum.csv": "empty",
        "cuda_gpu_kern_sum_by_range.csv": "empty",
    }
    (row,) = read_stats_csv(folder / "nvtx_sum.csv", COLUMNS["nvtx_sum.csv"])
    assert row["Instances"] == 3
    assert range_name(row["Range"], {"w/eager"}) == ("kernel_ledger", "w/eager")
    assert record["warnings"] == [] and json.loads((folder / "export.json").read_text()) == record


def test_the_ranges_of_our_domain_are_in_the_sqlite_file(folder, nsys):
    run_export(folder, nsys)
    ranges = read_sqlite(folder / "report.sqlite").ranges
    assert [(r.domain, r.name) for r in ranges] == [("kernel_ledger", "w/eager")] * 3


def test_the_same_recording_on_cuda_is_a_failure_of_the_kernel_reports_alone(folder, nsys):
    reports = run_export(folder, nsys, device="cuda")["reports"]
    assert reports["nvtx_sum.csv"]["status"] == "ok"
    assert reports["cuda_gpu_kern_sum.csv"]["status"] == "failed"
    assert (folder / "cuda_gpu_kern_sum.csv").read_bytes() == b""


def test_foreign_and_old_files_beside_the_report_are_not_used(folder, nsys):
    (folder / "report.sqlite").write_text("a newer SQLite of another run")
    (folder / "nvtx_sum.csv").write_text("an old CSV")
    assert run_export(folder, nsys)["reports"]["nvtx_sum.csv"]["rows"] == 1
    assert read_sqlite(folder / "report.sqlite").ranges


def test_nothing_is_left_of_this_export_or_of_a_killed_one(folder, nsys):
    (folder / ".export-killed").mkdir()
    run_export(folder, nsys)
    assert not [p for p in folder.iterdir() if p.name.startswith(".")]


@pytest.mark.parametrize("size", [0, 300, 20_000])
def test_a_truncated_recording_is_refused_and_leaves_only_the_log(folder, nsys, size):
    report = folder / "report.nsys-rep"
    report.write_bytes(report.read_bytes()[:size])
    with pytest.raises(EvidenceError, match="truncated or damaged"):
        run_export(folder, nsys)
    assert {p.name for p in folder.iterdir()} <= {"report.nsys-rep", "export-log.txt"}


def test_an_older_nsys_than_the_recorder_is_refused_at_once(folder, nsys):
    with pytest.raises(MachineError, match="older than the one that recorded"):
        run_export(folder, nsys, recorder="2099.1.1.1-1v0")


def test_a_newer_nsys_than_the_recorder_is_a_warning(folder, nsys):
    (warning,) = run_export(folder, nsys, recorder="2021.1.1.1-1v0")["warnings"]
    assert "recorded with nsys 2021.1.1.1" in warning["text"]


def test_an_unknown_recorder_is_a_warning(folder, nsys):
    (warning,) = run_export(folder, nsys, recorder=None)["warnings"]
    assert "not known" in warning["text"]


def test_an_nsys_without_its_reports_is_refused(folder, nsys, tmp_path):
    with pytest.raises(MachineError, match="lists no reports"):
        run_export(folder, replace(nsys, path=Path("/bin/true")))


def test_a_missing_recording_is_refused(tmp_path, nsys):
    with pytest.raises(EvidenceError, match="no recording"):
        run_export(tmp_path, nsys)


def test_the_recorded_environment_is_the_allowed_one(folder, nsys):
    run_export(folder, nsys)
    kept = set(read_sqlite(folder / "report.sqlite").environment)
    assert kept <= {*allowed(os.environ), lifeline.VARIABLE, "LD_PRELOAD"}


def test_a_withheld_variable_is_nowhere_in_the_export(tmp_path, nsys, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "planted-value-4711")
    report = tmp_path / "report.nsys-rep"
    command = profile_command(nsys.path, report, [sys.executable, "-c", "pass"], device="cpu")
    process.run(command, environment=allowed(os.environ), timeout_s=60)
    run_export(tmp_path, nsys)
    assert not [where for *where, text in all_text(tmp_path / "report.sqlite") if "4711" in text]


def test_where_there_was_no_nsys_pass_the_files_are_empty_and_say_why(tmp_path):
    export_nothing(tmp_path, "nsys not found")
    assert json.loads((tmp_path / "export.json").read_text()) == {"format": 1, "absent": "nsys not found"}
    assert (tmp_path / "nvtx_sum.csv").read_bytes() == b""


def test_the_script_of_the_rule_exports_a_capture(folder, nsys, tmp_path):
    plan = tmp_path / "plan.json"
    plan.write_text(
        json.dumps(
            {
                "format": 1,
                "device": "cpu",
                "timeout_s": 60,
                "nsys": {"path": str(nsys.path)},
                "environment": [],
            }
        )
    )
    recorded = {"format": 1, "versions": {"nsys": nsys.version_text}}
    (folder / "run.json").write_text(json.dumps(recorded))
    command = [sys.executable, "scripts/export.py", "--plan", str(plan), "--capture", str(folder.parent)]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": "src"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((folder / "export.json").read_text())["reports"]["nvtx_sum.csv"]["status"] == "ok"
