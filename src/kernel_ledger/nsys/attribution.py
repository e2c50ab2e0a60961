"""Which ranges enclose a moment on a thread: one sweep over time, not a search for each call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .rows import RangeRow

Moment = tuple[int, int]
"""(thread, time in ns)."""


def enclosing_ranges(
    moments: Iterable[Moment], ranges: Iterable[RangeRow]
) -> Mapping[Moment, tuple[str, ...]]:
    """For each moment the names of the push/pop ranges of its thread around it, outermost first.

    Both ends belong to a range; one that was never closed lasts to the end.  Of two that start together
    the longer is the outer one.
    """
    by_thread: dict[int, list[RangeRow]] = {}
    for row in ranges:
        if row.style == "pushpop":
            by_thread.setdefault(row.thread, []).append(row)
    for rows in by_thread.values():
        rows.sort(key=lambda r: (r.start, r.end is not None, -(r.end or 0), r.name))
    found: dict[Moment, tuple[str, ...]] = {}
    thread, at, active = None, 0, []
    for moment in sorted(set(moments)):
        if moment[0] != thread:
            thread, at, active = moment[0], 0, []
        rows, now = by_thread.get(thread, []), moment[1]
        while at < len(rows) and rows[at].start <= now:
            active.append(rows[at])
            at += 1
        active = [r for r in active if r.end is None or r.end >= now]
        found[moment] = tuple(r.name for r in active)
    return found
