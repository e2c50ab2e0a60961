"""What nsys printed of ranges and kernels, beside the same figures of the records in report.sqlite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..capture import CaseEvidence
from ..columnar import Column
from ..columnar.segments import spans
from ..errors import EvidenceError
from ..evidence import statistics
from ..nsys.book import announced_name
from ..nsys.kernels import kernels
from ..nsys.tables import COLUMNS, Cell, read_stats_csv

HOST, SPANS, KERNELS = "nvtx_sum.csv", "nvtx_gpu_proj_sum.csv", "cuda_gpu_kern_sum.csv"
PRINTED_DECIMAL = 0.1  # ns; means and deviations have one decimal
Figures = dict[str, float | int | None]


def wrong_figures(case: CaseEvidence) -> list[str]:
    """Where nvtx_sum.csv, nvtx_gpu_proj_sum.csv or cuda_gpu_kern_sum.csv print other figures than the records have."""
    return [*host_times(case), *gpu_spans(case), *(kernel_spread(case) if case.device == "cuda" else ())]


def host_times(case: CaseEvidence) -> Iterator[str]:
    """Host time of each announced range."""
    for name, row in rows_of_ranges(case, HOST).items():
        durations = case.nsys.ranges.where("name", name).duration
        wanted = figures(durations)
        yield from compared(HOST, name, row, {**wanted, "Total Time (ns)": int(durations.sum())})


def gpu_spans(case: CaseEvidence) -> Iterator[str]:
    """From the first GPU operation's start to the last one's end; nsys goes by the range's own thread alone."""
    for name, row in rows_of_ranges(case, SPANS).items():
        ops = case.nsys.ops.where("range", name)
        if not ops or ops.seen("thread_range") != {name}:
            continue
        projected = spans(ops.start, ops.end, ops.column("process"), ops.column("iteration"))
        wanted = {f"Proj {column}": value for column, value in figures(projected).items()}
        yield from compared(SPANS, name, row, {**wanted, "Total Proj Time (ns)": int(projected.sum())})


def kernel_spread(case: CaseEvidence) -> Iterator[str]:
    """Each kernel's figures with its standard deviation, under the name that nsys prints."""
    rows: dict[str, list[dict[str, Cell]]] = {}
    for row in printed(case.folder / "nsys" / KERNELS):
        rows.setdefault(row["Name"], []).append(row)
    for name, wanted in of_names(case.folder / "nsys/report.sqlite").items():
        found = rows.get(name, [])
        if len(found) == 1:  # a name that is printed otherwise is left to the sums
            yield from compared(KERNELS, name, found[0], wanted)


def of_names(path: Path) -> dict[str, Figures]:
    """Kernel name -> its figures; nothing of a database without kernels, which other checks name."""
    try:
        rows = kernels(path)
    except EvidenceError:
        return {}
    return {
        name: {
            "Instances": count,
            "Total Time (ns)": total,
            "Min (ns)": least,
            "Max (ns)": most,
            "StdDev (ns)": spread,
        }
        for name, count, total, _, least, most, spread in rows
    }


def rows_of_ranges(case: CaseEvidence, file: str) -> dict[str, dict[str, Cell]]:
    """Announced range -> its row, where there is one."""
    announced = set(map(case.plan.range_name, case.plan.variants))
    found: dict[str, list[dict[str, Cell]]] = {}
    for row in printed(case.folder / "nsys" / file):
        name = announced_name(row["Range"], announced)
        if name:
            found.setdefault(name, []).append(row)
    return {name: rows[0] for name, rows in found.items() if len(rows) == 1}


def printed(path: Path) -> list[dict[str, Cell]]:
    """Rows of a CSV; none of one that cannot be read, which reading the capture has named."""
    try:
        return read_stats_csv(path, COLUMNS[path.name])
    except EvidenceError:
        return []


def figures(durations: Column) -> Figures:
    stats = statistics(durations)
    if stats is None:
        return {}
    return {"Med (ns)": stats.median, "Min (ns)": stats.least, "Max (ns)": stats.most}


def compared(file: str, name: str, row: dict[str, Cell], wanted: Figures) -> Iterator[str]:
    """One sentence for a row of which any figure differs."""
    wrong = [
        f"{column} {row[column]} (report.sqlite: {round(value, 1)})"
        for column, value in wanted.items()
        if value is not None and not same(row[column], value)
    ]
    if wrong:
        yield f"{file} prints for {name[:80]} {', '.join(wrong)}"


def same(said: Cell, found: float) -> bool:
    """Counts and sums are whole numbers and equal; others have one printed decimal."""
    return said is not None and (
        said == found if isinstance(found, int) else abs(float(said) - found) <= PRINTED_DECIMAL
    )
