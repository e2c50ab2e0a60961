"""The slow reports of nsys, computed from its SQLite export: the very text that the real tool writes."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from nsys_tool import RECORDED, ROOT, real_nsys, recorded_copy

from kernel_ledger import process
from kernel_ledger.environment import allowed
from kernel_ledger.evidence import statistics
from kernel_ledger.limits import Limits
from kernel_ledger.nsys import sums
from kernel_ledger.nsys.database import read_sqlite
from kernel_ledger.nsys.kernels import kernels
from kernel_ledger.nsys.stats import REPORTS, Stats, known_reports
from kernel_ledger.nsys.sums import NotOurs, make_report

KERNELS, CALLS = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"
NAMES = ("nvtx_kern_sum", "nvtx_gpu_proj_sum")
RANGE = "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId) SELECT"
CHANGES = {
    "as recorded": (),
    "one instance of some": (f"DELETE FROM {KERNELS} WHERE rowid % 7 != 0",),
    "kernels outside all ranges": ("DELETE FROM NVTX_EVENTS WHERE rowid % 3 = 0",),
    "ranges never closed": ("UPDATE NVTX_EVENTS SET end = NULL WHERE rowid IN (3, 9)",),
    "ranges closed elsewhere": ("UPDATE NVTX_EVENTS SET endGlobalTid = 5 WHERE rowid % 4 = 0",),
    "kernels without a call": (f"UPDATE {CALLS} SET correlationId = correlationId + 9999 WHERE rowid % 5 = 0",),
    "two threads": (f"UPDATE {CALLS} SET globalTid = globalTid + 1 WHERE rowid % 2 = 0",),
    "a range around all": (f"{RANGE} min(start) - 5, max(end) + 5, 59, 'all', globalTid, 0 FROM NVTX_EVENTS WHERE end",),
    "one name twice": (f"{RANGE} start + 9, end - 9, 59, 'inner', globalTid, 0 FROM NVTX_EVENTS WHERE end",
                       f"{RANGE} start + 18, end - 18, 59, 'inner', globalTid, 0 FROM NVTX_EVENTS WHERE text IS NULL"),
}  # fmt: skip
CROSSING = f"{RANGE} start + 9000, end + 90000, 60, 'se', globalTid, 0 FROM NVTX_EVENTS WHERE end"
EXPORTS = (RECORDED, *sorted((ROOT / "reports/h200-reference/captures").rglob("report.sqlite")))


def tool(report: str, sqlite: Path, folder: Path) -> str:
    command = [
        real_nsys(),
        "stats",
        "--report",
        report,
        "--format",
        "csv",
        "--output",
        str(folder / "tool"),
        sqlite,
    ]
    done = process.run(command, environment=allowed(os.environ), timeout_s=120)
    (written,) = folder.glob(f"tool_{report}.csv")
    assert "PROCESSED" in done.output
    return written.read_text()


def ours(report: str, sqlite: Path, folder: Path) -> str:
    getattr(sums, report)(sqlite, folder / "ours.csv")
    return (folder / "ours.csv").read_text()


@pytest.mark.parametrize("report", NAMES)
@pytest.mark.parametrize("change", CHANGES)
def test_ours_is_the_tools_text(tmp_path, report, change):
    sqlite = recorded_copy(tmp_path / "report.sqlite", *CHANGES[change])
    try:
        mine = ours(report, sqlite, tmp_path)
    except NotOurs:
        assert report == "nvtx_gpu_proj_sum" and change == "one name twice"
    else:
        assert mine == tool(report, sqlite, tmp_path)


@pytest.mark.parametrize("report", NAMES)
@pytest.mark.parametrize("recorded", EXPORTS, ids=lambda p: p.parent.parent.name)
def test_ours_is_the_tools_text_of_recordings(tmp_path, report, recorded):
    (tmp_path / "report.sqlite").write_bytes(recorded.read_bytes())
    assert ours(report, recorded, tmp_path) == tool(report, tmp_path / "report.sqlite", tmp_path)


def test_ranges_that_cross_are_summed_as_the_tool_does(tmp_path):
    sqlite = recorded_copy(tmp_path / "report.sqlite", CROSSING)
    assert ours("nvtx_kern_sum", sqlite, tmp_path) == tool("nvtx_kern_sum", sqlite, tmp_path)
    with pytest.raises(NotOurs, match="cross"):
        ours("nvtx_gpu_proj_sum", sqlite, tmp_path)


def test_calls_that_share_an_id_are_left_to_the_tool(tmp_path):
    sqlite = recorded_copy(tmp_path / "report.sqlite", f"UPDATE {CALLS} SET correlationId = 100")
    for report in NAMES:
        with pytest.raises(NotOurs, match="share"):
            ours(report, sqlite, tmp_path)


def test_the_kernel_table_has_the_records_statistics():
    groups: dict[str, list[int]] = {}
    for row in read_sqlite(RECORDED).kernels:
        groups.setdefault(row.symbol, []).append(row.end - row.start)
    expected = {name: statistics(found) for name, found in groups.items()}
    rows = {row[0]: row[1:6] for row in kernels(RECORDED, mangled=True)}
    assert rows == {k: (s.count, s.total, s.median, s.least, s.most) for k, s in expected.items()}


def test_reading_leaves_the_export_as_it_was(tmp_path):
    sqlite = recorded_copy(tmp_path / "report.sqlite")
    sqlite.chmod(0o444)
    before = hashlib.sha256(sqlite.read_bytes()).hexdigest(), sqlite.stat().st_mtime_ns
    kernels(sqlite)
    for report in NAMES:
        getattr(sums, report)(sqlite, tmp_path / "ours.csv")
    assert (hashlib.sha256(sqlite.read_bytes()).hexdigest(), sqlite.stat().st_mtime_ns) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ours.csv", "report.sqlite"]


@pytest.mark.parametrize(
    ("limits", "by"),
    [
        (Limits(), "nsys stats"),
        (Limits(reports_kernels=99), "kernel-ledger"),
        (Limits(reports_kernels=99, nsys_reports="tool"), "nsys stats"),
    ],
)
def test_export_says_who_computed_a_report(tmp_path, limits, by):
    sqlite = recorded_copy(tmp_path / "report.sqlite")
    environment = allowed(os.environ)
    listed = process.run([real_nsys(), "stats", "--help-reports"], environment=environment, timeout_s=60)
    stats = Stats(real_nsys(), environment, tmp_path / "log", 120, known_reports(listed.output))
    rows = read_sqlite(sqlite).kernels
    for report in REPORTS:
        made = make_report(stats, report, sqlite, rows, "cuda", limits)
        slow = report.csv in ("nvtx_kern_sum.csv", "nvtx_gpu_proj_sum.csv")
        assert made["status"] == "ok" and made["computed_by"] == (by if slow else "nsys stats")
