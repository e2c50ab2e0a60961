"""Gives operations the announced range, and its number, in whose time their launching call began."""

from __future__ import annotations

import numpy as np

from .columnar import NONE, Column
from .columnar.nesting import NOWHERE, by_group
from .columnar.segments import numbered
from .evidence import Instances, Operations


def place(ops: Operations, ranges: Instances) -> Operations:
    """The operations with ``range`` and ``iteration``, both None outside every range.

    Announced ranges of a process follow one another in time, so position in time is enough, and a backward kernel
    that another thread launched is placed too.  Of a single process, nobody asks which one it is.
    """
    range_at = np.full(len(ops), NOWHERE, dtype=np.int64)
    iteration = np.full(len(ops), NONE, dtype=np.int64)
    process = ranges.column("process")
    if len(np.unique(process)) < 2:
        parts = [(np.arange(len(ops)), np.arange(len(ranges)))]
    else:
        parts = [own for _, own in by_group(ops.column("process"), process)]
    for mine, instances in parts:
        found, number = place_in_process(ops.column("launch_start")[mine], ranges.take(instances))
        hit = found >= 0
        range_at[mine[hit]] = instances[found[hit]]
        iteration[mine[hit]] = number[found[hit]]
    names = np.append(ranges.column("name"), len(ranges.values("name")))[
        range_at
    ]  # NOWHERE takes the last, None
    return ops.altered(iteration=iteration, range=(names, [*ranges.values("name"), None]))


def place_in_process(moment: Column, ranges: Instances) -> tuple[Column, Column]:
    """(for each moment the index of its range, or NOWHERE; for each range its number among those of its name)."""
    start, end = ranges.column("start"), ranges.column("end")
    order = np.lexsort((end, start))
    number = np.empty(len(ranges), dtype=np.int64)
    number[order] = numbered(ranges.column("name")[order])
    if not len(ranges):
        return np.full(len(moment), NOWHERE, dtype=np.int64), number
    at = np.searchsorted(start[order], moment, side="right") - 1  # NONE is before every range
    found = order[np.maximum(at, 0)]
    return np.where((at >= 0) & (moment <= end[found]) & (moment != NONE), found, NOWHERE), number
