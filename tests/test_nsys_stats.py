"""A report of `nsys stats` is believed only with its success line, header, rows and mangled names."""

import csv
import os
from pathlib import Path

import pytest
from nsys_tool import RECORDED, real_nsys, recorded_copy, script

from kernel_ledger import process
from kernel_ledger.environment import allowed
from kernel_ledger.nsys.database import read_sqlite
from kernel_ledger.nsys.stats import (
    REPORTS,
    Stats,
    fallen_back,
    known_reports,
    run_report,
    success_line,
)
from kernel_ledger.nsys.tables import COLUMNS, read_stats_csv

DATA = Path(__file__).parent / "data" / "nsys"
BY_CSV = {report.csv: report for report in REPORTS}
NEW = {"nvtx_sum": (), "nvtx_gpu_proj_sum": (), "nvtx_kern_sum": ("base", "mangled")}
NEW["cuda_gpu_kern_sum"] = ("nvtx-name", "base", "mangled")


def real(tmp_path, version="2023"):
    nsys = real_nsys(version)
    environment = allowed(os.environ)
    listed = process.run([nsys, "stats", "--help-reports"], environment=environment, timeout_s=60)
    return Stats(nsys, environment, tmp_path / "log.txt", 60, known_reports(listed.output))


def scripted(tmp_path, says, writes=None):
    """Stats with an nsys that prints ``says`` and writes the text ``writes`` (nothing where None)."""
    body = f"""
report, output = (sys.argv[sys.argv.index(o) + 1] for o in ('--report', '--output'))
name = output + '_' + report.replace(':', '_') + '.csv'
if {writes!r} is not None:
    open(name, 'w').write({writes!r})
print({says!r}.replace('NAME', name))
"""
    return Stats(script(tmp_path / "nsys", body), allowed(os.environ), tmp_path / "log.txt", 60, NEW)


def outcome(stats, csv_name, sqlite, device="cuda"):
    kernels = read_sqlite(sqlite).kernels
    result = run_report(stats, BY_CSV[csv_name], sqlite, kernels, device)
    assert (sqlite.parent / csv_name).exists()
    return result


PROCESSED = "Processing [report.sqlite] with [x.py] to [NAME]... PROCESSED"
SKIPPED = "Processing [report.sqlite] with [x.py] to [NAME]... SKIPPED: r.sqlite does not contain {}."
GOOD = (DATA / "linear_nvtx_sum.csv").read_text()


@pytest.fixture
def sqlite(tmp_path):
    return recorded_copy(tmp_path / "report.sqlite")


@pytest.mark.parametrize("name", list(COLUMNS))
def test_the_real_tool_makes_every_report_of_the_recording(tmp_path, sqlite, name):
    result = outcome(real(tmp_path), name, sqlite)
    assert result["status"] == "ok" and result["success_line"].endswith("PROCESSED")
    rows = read_stats_csv(tmp_path / name, COLUMNS[name])
    assert len(rows) == result["rows"] > 0


def test_the_real_tool_sums_as_the_version_that_recorded_did(tmp_path, sqlite):
    name = "cuda_gpu_kern_sum_by_range.csv"
    outcome(real(tmp_path), name, sqlite)
    recorded = read_stats_csv(DATA / f"linear_{name}", COLUMNS[name])
    assert read_stats_csv(tmp_path / name, COLUMNS[name]) == recorded


def test_old_report_names_are_used_with_nsys_2022(tmp_path, sqlite):
    stats = real(tmp_path, "2022")
    results = {name: outcome(stats, name, sqlite) for name in COLUMNS}
    assert [n for n, r in results.items() if r["status"] == "ok"] == [
        "nvtx_sum.csv",
        "nvtx_kern_sum.csv",
        "cuda_gpu_kern_sum.csv",
    ]
    assert "newer nsys" in results["nvtx_gpu_proj_sum.csv"]["reason"]
    assert "nvtx-name" in results["cuda_gpu_kern_sum_by_range.csv"]["reason"]
    with (tmp_path / "cuda_gpu_kern_sum.csv").open() as stream:
        assert "GridXYZ" in next(csv.reader(stream))


def test_an_internal_error_of_a_real_report_is_a_failure_with_its_text(tmp_path):
    sqlite = recorded_copy(tmp_path / "report.sqlite", "ALTER TABLE NVTX_EVENTS RENAME COLUMN color TO c")
    sqlite = recorded_copy(sqlite, "ALTER TABLE NVTX_EVENTS RENAME COLUMN endGlobalTid TO e")
    result = outcome(real(tmp_path), "nvtx_kern_sum.csv", sqlite)
    assert result["status"] == "failed" and "internal error" in result["reason"]
    assert (tmp_path / "nvtx_kern_sum.csv").read_bytes() == b""


@pytest.mark.parametrize("name", ["nvtx_gpu_proj_sum.csv", "nvtx_kern_sum.csv", "cuda_gpu_kern_sum.csv"])
@pytest.mark.parametrize(("device", "status"), [("cuda", "failed"), ("cpu", "empty")])
def test_a_real_recording_without_kernels_fails_on_cuda_and_is_rightly_empty_on_cpu(
    tmp_path, name, device, status
):
    drop = ["CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"]
    sqlite = recorded_copy(tmp_path / "report.sqlite", *(f"DROP TABLE {table}" for table in drop))
    result = outcome(real(tmp_path), name, sqlite, device)
    assert result["status"] == status and result["reason"].startswith("SKIPPED")
    text = (tmp_path / name).read_text()
    assert text == ("" if device == "cuda" else ",".join(COLUMNS[name]) + "\n")


def test_an_old_csv_that_the_real_tool_keeps_is_not_taken(tmp_path, sqlite):
    (tmp_path / "stats_nvtx_sum_nvtx_sum.csv").write_text(GOOD)
    result = outcome(real(tmp_path), "nvtx_sum.csv", sqlite)
    assert result["status"] == "failed" and "exists" in result["reason"]


def test_an_unknown_report_name_is_a_failure_although_the_tool_exits_with_0(tmp_path, sqlite):
    stats = scripted(
        tmp_path, "Processing [r] with [nvtx_sum] to [NAME]...\nERROR: Report 'nvtx_sum' could not be found."
    )
    result = outcome(stats, "nvtx_sum.csv", sqlite)
    assert result["status"] == "failed" and "could not be found" in result["reason"]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_lost_ranges_are_a_failure_everywhere_and_the_cause_is_named(tmp_path, sqlite, device):
    stats = scripted(tmp_path, SKIPPED.format("NV Tools Extension (NVTX) data"), "")
    result = outcome(stats, "nvtx_sum.csv", sqlite, device)
    assert result["status"] == "failed" and "nvtx 0.2.11" in result["reason"]


def test_a_csv_without_the_success_line_is_not_taken(tmp_path, sqlite):
    result = outcome(scripted(tmp_path, "nothing of note", GOOD), "nvtx_sum.csv", sqlite)
    assert result["status"] == "failed" and (tmp_path / "nvtx_sum.csv").read_bytes() == b""


def test_a_success_line_without_a_csv_is_not_believed(tmp_path, sqlite):
    result = outcome(scripted(tmp_path, PROCESSED), "nvtx_sum.csv", sqlite)
    assert result["status"] == "failed" and "left 0 files" in result["reason"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (GOOD.splitlines()[0] + "\n", "no rows"),
        (GOOD.replace("Range", "Rng"), "other columns"),
        (GOOD.replace("6217477", "-6217477"), "negative"),
        (GOOD + "1,2\n", "not valid CSV"),
    ],
)
def test_a_processed_csv_is_still_checked(tmp_path, sqlite, text, reason):
    result = outcome(scripted(tmp_path, PROCESSED, text), "nvtx_sum.csv", sqlite)
    assert result["status"] == "failed" and reason in result["reason"]


def test_demangled_names_in_place_of_mangled_ones_are_found_out(tmp_path, sqlite):
    plain = (DATA / "linear_cuda_gpu_kern_sum_by_range.csv").read_text()
    fallen = plain.replace("_Z18fused_chain_kernelPK6float4S1_PS_m", '"fused_chain_kernel(float4 *)"')
    fallen = fallen.replace('linear/fused/"', '"linear/fused/')
    result = outcome(scripted(tmp_path, PROCESSED, fallen), "cuda_gpu_kern_sum_by_range.csv", sqlite)
    assert result["status"] == "failed" and ":mangled fell back" in result["reason"]


def test_a_recording_without_mangled_names_is_found_out_with_the_real_tool(tmp_path):
    drop = "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN mangledName"
    sqlite = recorded_copy(tmp_path / "report.sqlite", drop)
    result = outcome(real(tmp_path), "cuda_gpu_kern_sum_by_range.csv", sqlite)
    assert result["status"] == "failed" and "no mangled names" in result["reason"]


def test_symbols_of_the_recording_are_no_fall_back():
    kernels = read_sqlite(RECORDED).kernels
    assert fallen_back([f"{k.range_path[-1]}/{k.symbol}" for k in kernels], kernels) is None


def test_a_name_with_a_quote_makes_the_real_csv_unreadable_and_is_refused(tmp_path):
    rename = "UPDATE StringIds SET value = 'x\"y,z' WHERE value = '_Z18fused_chain_kernelPK6float4S1_PS_m'"
    sqlite = recorded_copy(tmp_path / "report.sqlite", rename)
    result = outcome(real(tmp_path), "cuda_gpu_kern_sum_by_range.csv", sqlite)
    assert result["status"] == "failed" and "not valid CSV" in result["reason"]


def test_an_error_line_beside_the_success_line_is_no_success():
    assert success_line("ERROR: x\n... to [a.csv]... PROCESSED") is None
    assert success_line("Processing [a] with [b] to [a.csv]... PROCESSED") == "to [a.csv]... PROCESSED"


def test_the_list_of_reports_is_read_with_the_arguments():
    text = "  nvtx_sum -- NVTX\n  um_sum[:rows=<limit>] -- UM\n  k[:nvtx-name][:base|:mangled] -- K\no -- x\n"
    assert known_reports(text) == {
        "nvtx_sum": (),
        "um_sum": ("rows", "limit"),
        "k": ("nvtx-name", "base", "mangled"),
    }
