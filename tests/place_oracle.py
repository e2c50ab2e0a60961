"""Placing operations in ranges as it was before it was done in columns: one object after another.  An oracle for tests."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import replace

from kernel_ledger.evidence import GpuOp, RangeInstance


def place(ops: Sequence[GpuOp], ranges: Sequence[RangeInstance]) -> tuple[GpuOp, ...]:
    """Give each operation the announced range in whose time its launching call began.

    Announced ranges of a process follow one another in time, so position in time is enough, and a backward kernel
    that another thread launched is placed too.
    """
    if len({r.process for r in ranges}) < 2:
        return place_in_process(ops, ranges)
    own: dict[int | None, list[int]] = {}
    for index, op in enumerate(ops):
        own.setdefault(op.process, []).append(index)
    placed = list(ops)
    for process, indices in own.items():
        mine = [r for r in ranges if r.process == process]
        for index, op in zip(indices, place_in_process([ops[i] for i in indices], mine), strict=True):
            placed[index] = op
    return tuple(placed)


def place_in_process(ops: Sequence[GpuOp], ranges: Sequence[RangeInstance]) -> tuple[GpuOp, ...]:
    """The same for the operations and ranges of one process."""
    ordered = sorted(ranges, key=lambda r: (r.start, r.end))
    starts = [r.start for r in ordered]
    counts: dict[str, int] = {}
    index = []
    for instance in ordered:
        index.append(counts.get(instance.name, 0))
        counts[instance.name] = index[-1] + 1
    placed = []
    for op in ops:
        at = -1 if op.launch_start is None else bisect.bisect_right(starts, op.launch_start) - 1
        if at >= 0 and op.launch_start <= ordered[at].end:
            op = replace(op, range=ordered[at].name, iteration=index[at])
        placed.append(op)
    return tuple(placed)
