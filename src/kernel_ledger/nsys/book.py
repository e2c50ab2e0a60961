"""What nsys recorded, as the reconciliation reads it: a Book from the SQLite export, statistics from the CSVs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..cuda_calls import is_graph_launch
from ..evidence import Book, Finding, GpuOp, RangeInstance, Statistics, place
from ..names import demangle, memory_name
from .database import PROCESS_OF_THREAD, read_sqlite
from .rows import KernelRow, MemoryRow, NsysBook
from .tables import COLUMNS, DOMAIN, range_name, read_stats_csv, split_range_symbol


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
    book = read_sqlite(path)
    findings = list(contradictions(book, path.name, processes))
    ours = [r for r in book.ranges or () if r.name in announced and r.domain in (DOMAIN, None)]
    findings += [
        Finding("structure", f"range {r.name} was never closed", path.name) for r in ours if r.end is None
    ]
    ranges = tuple(
        RangeInstance(r.name, r.start, r.end, r.thread & PROCESS_OF_THREAD) for r in ours if r.end is not None
    )
    kernels = [kernel(row, announced) for row in book.kernels or ()]
    memory = [memory_op(row, announced) for row in book.memory or ()]
    recorded = {(row.process, row.correlation) for row in book.kernels or ()}
    recorded |= {(row.process, row.correlation) for row in book.memory or () if replayed(row)}
    return Book(
        source=path.name,
        ops=place([*kernels, *memory], ranges),
        ranges=ranges,
        findings=tuple(findings),
        launches_without_kernel=len(book.launching - recorded),
        graphs=book.graph_launches or 0,
    )


def contradictions(book: NsysBook, file: str, ran: int) -> list[Finding]:
    """What the export says against itself."""
    found = []
    if book.graph_launches:
        text = f"{book.graph_launches} CUDA graphs were recorded as one block each; record with --cuda-graph-trace=node"
        found.append(Finding("conservation", text, file))
    processes = {row.process for row in [*(book.kernels or ()), *(book.memory or ())]}
    if len(processes) > ran:
        one = "a pass is one process" if ran == 1 else f"this pass is {ran} processes"
        text = f"GPU operations of {len(processes)} processes are in the report; {one}"
        found.append(Finding("conservation", text, file))
    doubled = sum(count > 1 for count in (book.calls or {}).values())
    if doubled:
        found.append(Finding("structure", f"{doubled} correlation ids belong to several API calls", file))
    orphans = sum(row.call is None for row in [*(book.kernels or ()), *(book.memory or ())])
    if orphans:
        found.append(Finding("structure", f"{orphans} GPU operations have no launching call", file))
    return found


def replayed(row: KernelRow | MemoryRow) -> bool:
    """Whether the replay of a CUDA graph launched it."""
    return row.call is not None and is_graph_launch(row.call.name)


def launched_by(row: KernelRow | MemoryRow, announced: Collection[str]) -> dict:
    """The fields of an operation that its launching call gives."""
    return {
        "launch_start": row.call.start if row.call else None,
        "thread": row.call.thread if row.call else None,
        "thread_range": next((name for name in reversed(row.range_path) if name in announced), None),
        "innermost": row.range_path[-1] if row.range_path else None,
        "graph": replayed(row),
        "graph_node": row.graph_node,
        "process": row.process,
    }


def kernel(row: KernelRow, announced: Collection[str]) -> GpuOp:
    symbol = row.symbol or row.demangled
    return GpuOp(
        level="kernel",
        name=demangle(symbol),
        symbol=symbol,
        start=row.start,
        end=row.end,
        device=row.device,
        stream=row.stream,
        correlation=row.correlation,
        grid=row.grid,
        block=row.block,
        **launched_by(row, announced),
    )


def memory_op(row: MemoryRow, announced: Collection[str]) -> GpuOp:
    return GpuOp(
        level="memory",
        name=memory_name(row.kind),
        symbol=row.kind,
        start=row.start,
        end=row.end,
        device=row.device,
        stream=row.stream,
        correlation=row.correlation,
        bytes=row.bytes,
        **launched_by(row, announced),
    )


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
