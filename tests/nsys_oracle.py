"""The book of an export as it was read before it was read in columns: row by row, from NsysBook.  An oracle for tests."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from place_oracle import place

from kernel_ledger.cuda_calls import is_graph_launch
from kernel_ledger.evidence import Book, Finding, GpuOp, RangeInstance
from kernel_ledger.names import demangle, memory_name
from kernel_ledger.nsys.database import PROCESS_OF_THREAD, read_sqlite
from kernel_ledger.nsys.rows import KernelRow, MemoryRow, NsysBook
from kernel_ledger.nsys.tables import DOMAIN


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
