"""One call of each variant as both books recorded it, on one time axis that starts at its first GPU operation.

The call shown is the median one by GPU time; the two clocks are never compared, only each book's own distances.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .... import kineto
from ....columnar.segments import segments
from ....evidence import Book, GpuOp
from ....names import base_name
from ....ranks.split import first_rank
from ...numbers import duration
from ..read import Case
from .axis import Axis, from_zero
from .figure import Bar, Figure, FigureRow, bar, ticks

NARROW = 0.1  # per cent of the axis: less than a pixel
LABELLED = 7.0  # per cent of the axis that a name needs
MOST_MARKS = 400


@dataclass(frozen=True)
class Call:
    """One call: its GPU operations in the order of their starts."""

    variant: str
    book: str
    iteration: int
    ops: tuple[GpuOp, ...]

    @property
    def span(self) -> int:
        return max(op.end for op in self.ops) - self.ops[0].start

    @property
    def busy(self) -> int:
        return sum(op.duration for op in self.ops)


def timeline_figure(case: Case) -> Figure | None:
    """Figure of the traces and of report.sqlite, or None where neither has a GPU operation."""
    calls, used = [], []
    announced = {f"{case.workload}/{v}" for v in case.variants}
    if not announced or not any(
        row["nsys_count"] or row["torch_count"] for row in case.level("kernel", "memory")
    ):
        return None
    nsys = case.attempt("timeline", lambda: first_rank(case.folder / "nsys/report.sqlite", announced))
    for variant in case.variants:
        name = f"torch/{variant}/trace.json.gz"
        torch = case.attempt("timeline", lambda n=name: kineto.read(case.folder / n, announced))
        for title, file, book in (("torch", name, torch), ("nsys", "nsys/report.sqlite", nsys)):
            call = book and median_call(book, f"{case.workload}/{variant}", variant, title)
            if call:
                calls.append(call)
                used.append(file)
    axis = from_zero(call.span for call in calls)
    if axis is None:
        return None
    return Figure(
        kind="timeline",
        title="One call in both books",
        note="The call whose GPU time is the median. Time 0 is its first GPU operation, by each book's own clock.",
        header=["call", "no.", "launches", "busy", "span", "time from the first GPU operation"],
        rows=[call_row(axis, call, case) for call in calls],
        ticks=ticks(axis, duration),
        legend=legend(case),
        sources=[case.source(name) for name in dict.fromkeys(used)],
    )


def legend(case: Case) -> list[tuple[str, str]]:
    kernels = [("library", "library kernel"), ("chain", "kernel of the chain")]
    memory = [("memory", "memcpy, memset")] if case.level("memory") else []
    return [*(kernels if case.level("chain") else [("library", "kernel")]), *memory]


def median_call(book: Book, range_name: str, variant: str, title: str) -> Call | None:
    """The median call of a range by GPU time, the earlier one of two."""
    ops = book.ops.where("range", range_name)
    if not ops:
        return None
    rank, begin = segments(ops.column("iteration"))
    number = ops.column("iteration")[rank[begin]]
    order = np.lexsort((number, np.add.reduceat(ops.duration[rank], begin)))
    chosen = number[order[(len(order) - 1) // 2]]
    own = ops.take(ops.column("iteration") == chosen)
    own = own.take(np.lexsort((own.end, own.start)))
    return Call(variant, title, int(chosen), tuple(own))


def call_row(axis: Axis, call: Call, case: Case) -> FigureRow:
    cells = [str(call.iteration + 1), str(len(call.ops)), duration(call.busy), duration(call.span)]
    chain = {row["name"] for row in case.level("kernel")
             if case.level("chain") and row["variant"] == call.variant and not case.in_library(row["operator"])}  # fmt: skip
    bars = list(op_bars(axis, call.ops, chain))[:MOST_MARKS]
    return FigureRow(f"{call.variant} · {call.book}", cells, bars, height=26)


def op_bars(axis: Axis, ops: Sequence[GpuOp], chain: set[str]) -> Iterator[Bar]:
    """A rectangle an operation; neighbours of one name that are too narrow to see become one."""
    zero = ops[0].start
    for group in groups(ops, (axis.most - axis.least) * NARROW / 100):
        start, end, op = group[0].start - zero, group[-1].end - zero, group[0]
        kind = "memory" if op.level == "memory" else "chain" if op.name in chain else "library"
        name = base_name(op.name)
        count = f"{len(group)} × " if len(group) > 1 else ""
        text = f"{count}{name[:120]}: {duration(sum(o.duration for o in group))} from {duration(start)}"
        wide = axis.share(end) - axis.share(start) >= LABELLED
        yield bar(axis, start, end, kind, text, label=name[:100] if wide else "")


def groups(ops: Sequence[GpuOp], narrow: float) -> Iterator[list[GpuOp]]:
    """Operations in turn, those of one name together where they and the gap before them are narrow."""
    group: list[GpuOp] = []
    for op in ops:
        fits = (
            group and op.name == group[-1].name and op.duration < narrow and op.start - group[-1].end < narrow
        )
        if group and not (fits and group[-1].duration < narrow):
            yield group
            group = []
        group.append(op)
    if group:
        yield group
