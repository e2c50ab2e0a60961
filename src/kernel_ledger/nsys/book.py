"""What nsys recorded, as the reconciliation reads it: a Book from the SQLite export, statistics from the CSVs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..columnar import NONE
from ..errors import EvidenceError
from ..evidence import Book, Finding, Instances, Operations, Statistics
from ..placing import place
from .columns import export
from .instances import events
from .operations import Launching, launching, read_operations
from .tables import COLUMNS, DOMAIN, range_name, read_stats_csv, split_range_symbol

GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"


@dataclass(frozen=True, slots=True)
class RangeRow:
    """A range's rows of nvtx_sum.csv and nvtx_gpu_proj_sum.csv; medians in ns, None where there is no row."""

    instances: int
    host_median_ns: float
    span_median_ns: float | None


def read(path: Path, announced: Collection[str], processes: int = 1) -> Book:
    """Read report.sqlite.  ``announced``: names of the ranges that the program announced; ``processes``: how many ran.

    Raises EvidenceError where the file is not a readable export.
    """
    with export(path) as source:
        for table in ("StringIds", "META_DATA_EXPORT"):
            if table not in source.tables:
                raise EvidenceError("this is no export of nsys", where=path, expected=f"a table {table}")
        strings = dict(source.connection.execute("SELECT id, value FROM StringIds"))
        nvtx, calls = events(source, strings), launching(source, strings)
        ops = read_operations(source, strings, calls, nvtx, announced)
        graphs = source.count(GRAPHS)
    ours = nvtx.among(announced, (DOMAIN, None))
    findings = list(contradictions(ops, calls, graphs, path.name, processes))
    open_ = ours[nvtx.end[ours] == NONE]
    findings += [
        Finding("structure", f"range {nvtx.names[name]} was never closed", path.name)
        for name in nvtx.name[open_].tolist()
    ]
    closed = ours[nvtx.end[ours] != NONE]
    ranges = Instances.build(
        len(closed),
        name=(nvtx.name[closed], nvtx.names),
        start=nvtx.start[closed],
        end=nvtx.end[closed],
        process=nvtx.process[closed],
    )
    recorded = ops.take(ops.has("level", "kernel") | ops.has("graph", True))
    return Book(
        source=path.name,
        ops=place(ops, ranges),
        ranges=ranges,
        findings=tuple(findings),
        launches_without_kernel=calls.unanswered(recorded.column("process"), recorded.column("correlation")),
        graphs=graphs,
    )


def contradictions(ops: Operations, calls: Launching, graphs: int, file: str, ran: int) -> list[Finding]:
    """What the export says against itself."""
    found = []
    if graphs:
        text = f"{graphs} CUDA graphs were recorded as one block each; record with --cuda-graph-trace=node"
        found.append(Finding("conservation", text, file))
    processes = len(np.unique(ops.column("process")))
    if processes > ran:
        one = "a pass is one process" if ran == 1 else f"this pass is {ran} processes"
        text = f"GPU operations of {processes} processes are in the report; {one}"
        found.append(Finding("conservation", text, file))
    if doubled := calls.doubled():
        found.append(Finding("structure", f"{doubled} correlation ids belong to several API calls", file))
    if orphans := int(np.count_nonzero(ops.column("launch_start") == NONE)):
        found.append(Finding("structure", f"{orphans} GPU operations have no launching call", file))
    return found


def read_kernels(path: Path, announced: Collection[str]) -> Mapping[tuple[str | None, str], Statistics]:
    """(range, symbol) -> the row of cuda_gpu_kern_sum_by_range.csv.  Raises EvidenceError."""
    found = {}
    for row in read_stats_csv(path, COLUMNS[path.name]):
        median, spread = row["Med (ns)"], row["StdDev (ns)"]
        found[split_range_symbol(row["Name"], announced)] = Statistics(
            count=row["Instances"],
            total=row["Total Time (ns)"],
            median=int(median) if median == int(median) else float(median),
            least=row["Min (ns)"],
            most=row["Max (ns)"],
            stddev=None if spread is None or row["Instances"] < 2 else float(spread),
        )
    return found


def read_ranges(folder: Path, announced: Collection[str]) -> Mapping[str, RangeRow]:
    """Range -> its host time and GPU span, from nvtx_sum.csv and nvtx_gpu_proj_sum.csv.  Raises EvidenceError."""
    host, projected = folder / "nvtx_sum.csv", folder / "nvtx_gpu_proj_sum.csv"
    spans = {ours: row for row in read_stats_csv(projected, COLUMNS[projected.name])
             if (ours := announced_name(row["Range"], announced))}  # fmt: skip
    found = {}
    for row in read_stats_csv(host, COLUMNS[host.name]):
        name = announced_name(row["Range"], announced)
        if name:
            span = spans.get(name)
            found[name] = RangeRow(
                row["Instances"], number(row["Med (ns)"]), number(span["Proj Med (ns)"]) if span else None
            )
    return found


def read_totals(path: Path, announced: Collection[str]) -> Mapping[str | None, tuple[int, int]]:
    """Range -> (kernels, their ns in all) in nvtx_kern_sum.csv; under None, of all of cuda_gpu_kern_sum.csv.

    Raises EvidenceError.
    """
    found: dict[str | None, tuple[int, int]] = {}
    for row in read_stats_csv(path, COLUMNS[path.name]):
        name = announced_name(row["NVTX Range"], announced) if "NVTX Range" in row else None
        if name is None and "NVTX Range" in row:
            continue
        count, total = found.get(name, (0, 0))
        found[name] = count + row.get("Instances", row.get("Kern Inst")), total + row["Total Time (ns)"]
    return found


def announced_name(printed: str, announced: Collection[str]) -> str | None:
    """The announced range that a CSV prints as ``printed``, or None for any other range."""
    domain, name = range_name(printed, announced)
    return name if name in announced and domain in (DOMAIN, None) else None


def number(value: object) -> float | int:
    return int(value) if value == int(value) else float(value)
