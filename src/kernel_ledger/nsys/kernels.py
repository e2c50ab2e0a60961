"""Kernel tables from an nsys SQLite export: by name, and by the NVTX ranges around the launching calls."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..columnar import NONE, Column
from ..columnar.nesting import NOWHERE, by_group, enclosing
from ..columnar.table import Table, dense, grouped
from .columns import KERNELS, STYLES, Calls, Export, Ranges, calls, export, ranges

LOW = 0xFFFFFF


def kernels(path: Path, mangled: bool = False) -> list[tuple]:
    """(name, count, total, median, least, most, stddev), greatest total first; times in ns.  Raises EvidenceError."""
    with export(path) as source:
        name, duration = source.columns(KERNELS, (source.kernel_name(mangled), "end - start"))
        table = grouped([name], duration)
        names = source.strings(table.keys[0])
    return [(names[row[0]], *row[1:]) for row in table.rows()]


@dataclass(frozen=True)
class RangeKernels:
    """Durations by (range name, style, process, thread, kernel).  ``table`` has an entry for every pair of a kernel
    and a range around its launch; ``ranges``: how many ranges are in a row, ``instances``: how many kernels."""

    table: Table
    ranges: Column
    instances: Column
    range_names: list[str]
    kernel_names: dict[int, str]

    def rows(self) -> list[tuple]:
        """(range or None, style or None, process, thread, ranges, kernels, total, mean, median, least, most,
        stddev, kernel), unordered; a kernel within two ranges of one name is in the times twice."""
        found = []
        table = self.table
        keys = zip(*(k.tolist() for k in table.keys), strict=True)
        numbers = zip(
            self.ranges.tolist(),
            self.instances.tolist(),
            table.total.tolist(),
            (table.total / table.count).tolist(),
            table.medians(),
            table.least.tolist(),
            table.most.tolist(),
            table.stddev.tolist(),
            strict=True,
        )
        for (name, style, process, thread, kernel), values in zip(keys, numbers, strict=True):
            known = name != NOWHERE
            found.append(
                (
                    self.range_names[name] if known else None,
                    STYLES[style] if known else None,
                    *(None if value == NONE else value for value in (process, thread)),
                    *values,
                    self.kernel_names[kernel],
                )
            )
        return found


def kernels_by_range(path: Path, mangled: bool = False) -> RangeKernels:
    """Each kernel under every range that its launching call lies in, on the call's thread.  Raises EvidenceError."""
    with export(path) as source:
        return by_range(source, calls(source), ranges(source), mangled)


def by_range(source: Export, of: Calls, nvtx: Ranges, mangled: bool = False) -> RangeKernels:
    wanted = ("correlationId", "globalPid", source.kernel_name(mangled), "end - start")
    correlation, process, name, duration = source.columns(KERNELS, wanted)
    call = of.launching(process, correlation)
    launched, at = dense(call[call >= 0])
    spans, around = ranges_of_calls(of, nvtx, launched)
    kernel, nvtx_range = expand(call, at, spans, around, len(launched))
    thread = np.where(call[kernel] >= 0, of.thread[call[kernel]], NONE)
    inside = nvtx_range >= 0
    keys = [
        np.where(inside, np.append(nvtx.name, NOWHERE)[nvtx_range], NOWHERE),
        np.where(inside, np.append(nvtx.style, NONE)[nvtx_range], NONE),
        np.where(thread == NONE, NONE, (thread >> 24) & LOW),
        np.where(thread == NONE, NONE, thread & LOW),
        name[kernel],
    ]
    table = grouped(keys, duration[kernel])
    row = table.row_of
    return RangeKernels(
        table=table,
        ranges=distinct(row[inside], nvtx_range[inside], len(table)),
        instances=table.count if len(kernel) == len(call) else distinct(row, kernel, len(table)),
        range_names=nvtx.names,
        kernel_names=source.strings(table.keys[-1]),
    )


def ranges_of_calls(of: Calls, nvtx: Ranges, chosen: Column) -> tuple[Column, Column]:
    """All pairs (index into ``chosen``, index of a range that the call lies in), thread by thread."""
    spans, found = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for _, (here, intervals) in by_group(of.thread[chosen], nvtx.thread):
        at = chosen[here]
        span, interval = enclosing(nvtx.start[intervals], nvtx.end[intervals], of.start[at], of.end[at])
        spans.append(here[span])
        found.append(intervals[interval])
    return np.concatenate(spans), np.concatenate(found)


def expand(call: Column, at: Column, spans: Column, around: Column, count: int) -> tuple[Column, Column]:
    """Pairs (kernel, range) from each kernel's call and each call's ranges; a kernel without any has NOWHERE.

    ``call``: of each kernel; ``at``: of the kernels that have one, its number among the ``count`` launching calls.
    """
    rank = np.argsort(spans, kind="stable")
    many = np.bincount(spans, minlength=count)
    first = np.cumsum(many) - many
    launched = np.flatnonzero(call >= 0)
    repeat = many[at]
    kernel = np.repeat(launched, repeat)
    offset = np.arange(len(kernel)) - np.repeat(np.cumsum(repeat) - repeat, repeat)
    nvtx_range = around[rank[np.repeat(first[at], repeat) + offset]]
    alone = np.setdiff1d(np.arange(len(call)), launched[repeat > 0], assume_unique=True)
    return np.concatenate([kernel, alone]), np.concatenate([nvtx_range, np.full(len(alone), NOWHERE)])


def distinct(row: Column, value: Column, rows: int) -> Column:
    """How many different values each row has."""
    if not len(row):
        return np.zeros(rows, dtype=np.int64)
    width = int(value.max()) + 1
    both = np.sort(row * width + value)
    new = np.append(True, both[1:] != both[:-1])
    return np.bincount(both[new] // width, minlength=rows)
