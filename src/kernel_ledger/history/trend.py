"""Series of the history: for each workload, case, variant and machine, its runs in order and its changes of level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pyarrow as pa

from .levels import Change, changes

VERIFIED = "verified"


@dataclass(frozen=True)
class Trend:
    """``points``: rows of ``dataset.series``, oldest first; ``changes``: their indices count all points.

    A run that is not verified is drawn, and takes no part in the level.
    """

    workload: str
    case: str
    variant: str
    machine: str
    points: Sequence[dict[str, Any]]
    changes: Sequence[Change]

    @property
    def title(self) -> str:
        return f"{self.workload}/{self.case}"


def trends(table: pa.Table) -> Iterator[Trend]:
    """One trend for each series of a table of ``dataset.series``."""

    def key(row: dict[str, Any]) -> tuple[str, ...]:
        return row["workload"], row["case"], row["variant"], row["machine"] or "unknown"

    for names, rows in groupby(table.to_pylist(), key):
        points = list(rows)
        good = [index for index, point in enumerate(points) if point["verdict"] == VERIFIED]
        found = changes([points[index]["event_median_ns"] for index in good])
        moved = [Change(good[c.index], c.before, c.after, c.confirmed) for c in found]
        yield Trend(*names, points=points, changes=moved)


def sentence(trend: Trend, change: Change) -> str:
    """A change for people: what, by how much, since which run and commit."""
    point = trend.points[change.index]
    since = f"run {point['run']}" + (f", commit {point['commit'][:12]}" if point["commit"] else "")
    certain = "" if change.confirmed else " (suspected: too few runs since)"
    return (
        f"{trend.title} {trend.variant} on {trend.machine}: {change.before / 1e6:.4g} -> {change.after / 1e6:.4g} ms"
        f" ({change.pct:+.1f} %) since {since}{certain}"
    )
