"""What nsys is told to record, and each way in which it did not."""

import os
import sys
from pathlib import Path

import pytest
from nsys_tool import real_nsys

from kernel_ledger import process
from kernel_ledger.environment import allowed
from kernel_ledger.errors import MachineError, PassError
from kernel_ledger.nsys.record import diagnose_recording, profile_command
from kernel_ledger.process import Finished


def finished(output="", status=0, timed_out=False):
    return Finished(("nsys", "profile"), status, None, 1.0, timed_out, output)


@pytest.fixture
def report(tmp_path):
    path = tmp_path / "report.nsys-rep"
    path.write_bytes(b"recorded")
    return path


def test_on_cuda_the_profiler_api_bounds_the_recording():
    command = profile_command(Path("/n/nsys"), Path("out/report.nsys-rep"), ["python", "x y"], device="cuda")
    assert command[:2] == ["/n/nsys", "profile"] and command[-4:] == [
        "--output",
        "out/report",
        "python",
        "x y",
    ]
    for option in (
        "--trace=cuda,nvtx",
        "--capture-range=cudaProfilerApi",
        "--capture-range-end=stop",
        "--cuda-graph-trace=node",
        "--sample=none",
        "--cpuctxsw=none",
    ):
        assert option in command


def test_on_the_cpu_only_nvtx_is_recorded():
    command = profile_command(Path("nsys"), Path("r.nsys-rep"), ["true"], device="cpu")
    assert "--trace=nvtx" in command and not [o for o in command if "capture" in o]


def test_a_good_recording_has_no_warnings(report):
    assert diagnose_recording(finished("Generated:\n    report.nsys-rep\n"), report, device="cuda") == []


def test_status_143_with_a_good_report_is_a_warning(report):
    (warning,) = diagnose_recording(finished(status=143), report, device="cuda")
    assert warning["source"] == "nsys" and "143" in warning["text"]


def test_complaints_of_a_tool_that_exits_with_0_become_warnings(report):
    said = "Errors occurred while processing the raw events.\nWARNING: CPU IP samples\nall fine\n"
    texts = [w["text"] for w in diagnose_recording(finished(said + said), report, device="cuda")]
    assert texts == ["Errors occurred while processing the raw events.", "WARNING: CPU IP samples"]


def test_a_failed_program_is_no_recording_although_there_is_a_report(report):
    with pytest.raises(PassError, match="status 7") as raised:
        diagnose_recording(finished("boom\n", 7), report, device="cuda")
    assert "boom" in raised.value.found


def test_a_crash_is_named(report):
    with pytest.raises(PassError, match="crashed under nsys"):
        diagnose_recording(finished(status=139), report, device="cuda")


def test_a_time_out_is_named(report):
    with pytest.raises(PassError, match="time limit"):
        diagnose_recording(finished(status=143, timed_out=True), report, device="cuda")


@pytest.mark.parametrize("cause", ["File exists.", "No such file or directory."])
def test_a_report_under_another_name_is_not_taken(tmp_path, cause):
    said = f"Failed to create '/x/report.nsys-rep': {cause}\nGenerated:\n    /tmp/nsys-report-1.nsys-rep\n"
    with pytest.raises(PassError, match="under the name asked for") as raised:
        diagnose_recording(finished(said), tmp_path / "report.nsys-rep", device="cuda")
    assert cause in raised.value.found and "nsys-report-1" in raised.value.found


def test_only_a_raw_recording_means_a_missing_importer(tmp_path):
    (tmp_path / "report.qdstrm").write_bytes(b"raw")
    with pytest.raises(MachineError, match="qdstrm"):
        diagnose_recording(finished(), tmp_path / "report.nsys-rep", device="cuda")


def test_no_report_with_status_0_means_that_the_range_never_began(tmp_path):
    with pytest.raises(PassError, match="capture range never began"):
        diagnose_recording(finished("Generated:\n"), tmp_path / "report.nsys-rep", device="cuda")


def test_an_empty_report_is_none(report):
    report.write_bytes(b"")
    with pytest.raises(PassError, match="no report"):
        diagnose_recording(finished(), report, device="cpu")


def test_a_program_that_failed_before_the_range_is_named_as_the_cause(tmp_path):
    with pytest.raises(PassError, match="failed .status 1. before anything was recorded"):
        diagnose_recording(finished("ImportError", 1), tmp_path / "report.nsys-rep", device="cuda")


def record(nsys, report, *code, device="cpu"):
    command = profile_command(nsys, report, [sys.executable, "-c", *code], device=device)
    return process.run(command, environment=allowed(os.environ), timeout_s=60)


def test_the_real_tool_records_under_the_name_asked_for(tmp_path):
    report = tmp_path / "a b" / "report.nsys-rep"
    report.parent.mkdir()
    assert diagnose_recording(record(real_nsys(), report, "pass"), report, device="cpu") == []


def test_the_real_tool_keeps_an_existing_report_and_is_found_out(tmp_path):
    report = tmp_path / "report.nsys-rep"
    report.write_bytes(b"")
    done = record(real_nsys(), report, "pass")
    try:
        with pytest.raises(PassError, match="under the name asked for"):
            diagnose_recording(done, report, device="cpu")
    finally:
        for line in done.output.splitlines():
            if line.strip().startswith("/") and line.endswith(".nsys-rep"):
                Path(line.strip()).unlink(missing_ok=True)


def test_the_real_tool_exits_with_0_without_a_report_when_the_range_never_begins(tmp_path):
    report = tmp_path / "report.nsys-rep"
    done = record(real_nsys(), report, "pass", device="cuda")
    assert done.exit_status == 0
    with pytest.raises(PassError, match="capture range never began"):
        diagnose_recording(done, report, device="cuda")


def test_the_real_tool_passes_on_the_crash_of_its_program(tmp_path):
    report = tmp_path / "report.nsys-rep"
    done = record(real_nsys(), report, "import os; os.kill(os.getpid(), 11)")
    with pytest.raises(PassError, match="crashed under nsys"):
        diagnose_recording(done, report, device="cpu")
