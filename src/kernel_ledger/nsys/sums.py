"""The two NVTX reports that cost `nsys stats` minutes on a large recording, computed from its SQLite export.

Same rows, same numbers and same spelling as nvtx_kern_sum and nvtx_gpu_proj_sum; a recording in which the tool's
own rules have no single answer is refused with NotOurs, and left to the tool.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..columnar import NONE, Column, column, joined
from ..columnar.nesting import NOWHERE, by_group, crossing, holders, order
from ..columnar.table import grouped
from ..errors import EvidenceError
from ..files import sha256
from ..limits import Limits
from .columns import COPIES, KERNELS, STYLES, Calls, Export, Ranges, calls, export, ranges
from .kernels import by_range, expand, ranges_of_calls
from .stats import OURS, Kernels, Outcome, Report, Stats, run_report
from .tables import COLUMNS


def make_report(
    stats: Stats, report: Report, sqlite: Path, kernels: Kernels, device: str, limits: Limits
) -> dict[str, Any]:
    """A CSV of a capture, by the tool or, for the slow reports of a large recording, by us; as run_report.

    Where the tool's rules have no single answer the tool makes it, however long that takes.
    """
    compute = SLOW.get(report.csv)
    if compute is None or device != "cuda" or not limits.computes(len(kernels or ())):
        return run_report(stats, report, sqlite, kernels, device)
    target = sqlite.with_name(report.csv)
    try:
        rows = compute(sqlite, target)
    except NotOurs:
        return run_report(stats, report, sqlite, kernels, device)
    return asdict(Outcome("ok", None, rows, None, sha256(target), computed_by=OURS))


class NotOurs(EvidenceError):
    """This report of this recording is for the tool."""


def nvtx_kern_sum(path: Path, target: Path) -> int:
    """Write nvtx_kern_sum.csv; returns its rows.  Raises NotOurs, EvidenceError."""
    with export(path) as source:
        of, nvtx = readable(path, source)
        found = by_range(source, of, nvtx).rows()
        rounded = Rounded(source)
        found.sort(
            key=lambda row: (
                row[0] is not None,
                encoded(row[0]),
                none_first(row[2]),
                none_first(row[3]),
                -row[6],
            )
        )
        rows = [
            (*row[:7], rounded(row[7]), rounded(row[8]), *row[9:11], rounded(row[11]), row[12])
            for row in found
        ]
    return write(target, "nvtx_kern_sum.csv", rows)


def nvtx_gpu_proj_sum(path: Path, target: Path) -> int:
    """Write nvtx_gpu_proj_sum.csv; returns its rows.  Raises NotOurs, EvidenceError."""
    with export(path) as source:
        of, nvtx = readable(path, source)
        parent = parents(path, nvtx)
        level = depths(parent)
        start, end, correlation, process = operations(source)
        call = of.launching(process, correlation)
        launched, at = np.unique(call[call >= 0], return_inverse=True)
        spans, around = ranges_of_calls(of, nvtx, launched)
        op, nvtx_range = expand(call, at, spans, around, len(launched))
        op, nvtx_range = op[nvtx_range >= 0], nvtx_range[nvtx_range >= 0]
        if not len(op):
            return write(target, "nvtx_gpu_proj_sum.csv", ())
        rank = np.argsort(nvtx_range, kind="stable")
        op, nvtx_range = op[rank], nvtx_range[rank]
        first = np.flatnonzero(np.diff(nvtx_range, prepend=-1))
        instance = nvtx_range[first]
        projected = np.maximum.reduceat(end[op], first) - np.minimum.reduceat(start[op], first)
        calls_in = np.bincount(around, minlength=len(nvtx.start))[instance]
        above = parent[instance]
        children = np.bincount(above[above >= 0], minlength=len(nvtx.start))[instance]
        table = grouped([nvtx.name[instance], nvtx.style[instance]], projected)
        row_of = table.row_of
        sums = [
            np.bincount(row_of, weights=values, minlength=len(table)).astype(np.int64)
            for values in ((nvtx.end - nvtx.start)[instance], calls_in, level[instance], children)
        ]
        rounded = Rounded(source)
        rows = []
        parts = (*table.keys, table.count, table.total, *sums, table.least, table.most)
        for i, (name, style, count, total, lasting, ops, levels, child, least, most) in enumerate(
            zip(*(part.tolist() for part in parts), strict=True)
        ):
            means = [rounded(value / count) for value in (total, ops, levels, child)]
            rows.append(
                (nvtx.names[name], STYLES[style], total, lasting, count, means[0], rounded(table.medians()[i]), least,
                 most, rounded(float(table.stddev[i])), ops, *means[1:])
            )  # fmt: skip
    rows.sort(key=lambda row: (-row[2], encoded(row[0]), row[1]))
    return write(target, "nvtx_gpu_proj_sum.csv", rows)


SLOW = {"nvtx_kern_sum.csv": nvtx_kern_sum, "nvtx_gpu_proj_sum.csv": nvtx_gpu_proj_sum}


def readable(path: Path, source: Export) -> tuple[Calls, Ranges]:
    """Calls and ranges, where each operation has one call at most.  Raises NotOurs."""
    of = calls(source)
    if of.doubled():
        raise NotOurs("API calls share a correlation id: the tool counts an operation under each", where=path)
    return of, ranges(source)


def operations(source: Export) -> list[Column]:
    """start, end, correlation and process of all kernels and copies."""
    wanted = ("start", "end", "correlationId", "globalPid")
    tables = [source.columns(table, wanted) for table in (KERNELS, *COPIES) if table in source.tables]
    return [joined(list(parts)) for parts in zip(*tables, strict=True)] or [column() for _ in wanted]


def parents(path: Path, nvtx: Ranges) -> Column:
    """For each range the one that holds it most tightly, on its thread, or NOWHERE.  Raises NotOurs."""
    parent = np.full(len(nvtx.start), NOWHERE, dtype=np.int64)
    for _, (here,) in by_group(nvtx.thread):
        rank = here[order(nvtx.start[here], nvtx.end[here])]
        start, end = nvtx.start[rank], nvtx.end[rank]
        link = holders(end)
        link[(link >= 0) & (end[link] < start)] = NOWHERE
        same = (np.diff(start) == 0) & (np.diff(end) == 0)
        if np.any(same) or crossing(start, end, holders(end)):
            raise NotOurs(
                "ranges of one thread cross or coincide: which holds which is the tool's choice", where=path
            )
        parent[rank] = np.where(link >= 0, rank[link], NOWHERE)
    return parent


def depths(parent: Column) -> Column:
    """How many ranges hold each."""
    depth, above = np.zeros(len(parent), dtype=np.int64), parent
    while len(inside := np.flatnonzero(above >= 0)):
        depth[inside] += 1
        above = np.where(above >= 0, parent[above], NOWHERE)
    return depth


class Rounded:
    """Numbers to one decimal, rounded by SQLite's own round(), which is what the tool uses.

    The deviation of a single value, which there is not, is 0.0 in the tool's table, and so it is here; readers of
    these files know.
    """

    def __init__(self, source: Export) -> None:
        self.execute = source.connection.execute

    def __call__(self, value: float) -> float:
        if value != value:
            return 0.0
        return self.execute("SELECT round(?, 1)", (float(value),)).fetchone()[0]


def encoded(text: str | None) -> bytes:
    """What SQLite orders texts by."""
    return (text or "").encode()


def none_first(value: int | None) -> int:
    return NONE if value is None else value


def write(target: Path, name: str, rows: Iterable[tuple]) -> int:
    """Write a CSV as `nsys stats` would, with its header; returns the number of rows."""
    rows = list(rows)
    with target.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS[name])
        writer.writerows(rows)
    return len(rows)
