"""Which intervals enclose a moment, for many moments at once: linear in both but for sorting, no search for each.

An interval encloses a moment if ``start <= moment <= end``.  Intervals are ordered by start, of two that start
together the longer first, and else as they stand; the innermost is the last in this order.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from . import Column

NOWHERE = -1


def order(start: Column, end: Column) -> Column:
    """Indices of intervals from the outer to the inner."""
    return np.lexsort((-end, start))


def outer_links(end: Column) -> Column:
    """For each interval, in order, the nearest earlier one that ends later, or NOWHERE.

    Every link skips only intervals that end no later, and links are followed through links, which doubles their
    reach each round.
    """
    link = np.arange(-1, len(end) - 1, dtype=np.int64)
    open_ = np.flatnonzero(link >= 0)
    while len(open_):
        before = link[open_]
        open_ = open_[end[before] <= end[open_]]
        link[open_] = link[link[open_]]
        open_ = open_[link[open_] >= 0]
    return link


def innermost(start: Column, end: Column, moment: Column) -> Column:
    """For each moment the index of the innermost interval around it, or NOWHERE."""
    if not len(start):
        return np.full(len(moment), NOWHERE, dtype=np.int64)
    rank = order(start, end)
    start, end = start[rank], end[rank]
    link = outer_links(end)
    found = np.searchsorted(start, moment, side="right") - 1
    late = np.flatnonzero(found >= 0)
    while len(late := late[end[found[late]] < moment[late]]):
        found[late] = link[found[late]]
        late = late[found[late] >= 0]
    return np.where(found >= 0, rank[found], NOWHERE)


def by_group(*keys: Column) -> Iterator[tuple[int, list[Column]]]:
    """(value, indices in each of ``keys`` that have it), for the values that the first of them has."""
    orders = [np.argsort(key, kind="stable") for key in keys]
    ordered = [key[rank] for key, rank in zip(keys, orders, strict=True)]
    first = ordered[0]
    values = first[np.flatnonzero(np.append(True, first[1:] != first[:-1]))] if len(first) else first
    for value in values:
        bounds = [(np.searchsorted(k, value), np.searchsorted(k, value, side="right")) for k in ordered]
        yield int(value), [rank[a:b] for rank, (a, b) in zip(orders, bounds, strict=True)]


def innermost_by_group(
    group: Column, start: Column, end: Column, of_moment: Column, moment: Column
) -> Column:
    """As ``innermost``, within groups (threads) only."""
    found = np.full(len(moment), NOWHERE, dtype=np.int64)
    for _, (moments, intervals) in by_group(of_moment, group):
        inner = innermost(start[intervals], end[intervals], moment[moments])
        hit = inner >= 0
        found[moments[hit]] = intervals[inner[hit]]
    return found


def holders(end: Column) -> Column:
    """As outer_links, but to the nearest earlier interval that ends no earlier."""
    link = np.arange(-1, len(end) - 1, dtype=np.int64)
    open_ = np.flatnonzero(link >= 0)
    while len(open_):
        open_ = open_[end[link[open_]] < end[open_]]
        link[open_] = link[link[open_]]
        open_ = open_[link[open_] >= 0]
    return link


def crossing(start: Column, end: Column, link: Column) -> bool:
    """Whether any of these ordered intervals overlap or touch without one holding the other."""
    before = np.arange(-1, len(start) - 1, dtype=np.int64)
    at = np.flatnonzero(before >= 0)
    while len(at := at[end[before[at]] < start[at]]):
        before[at] = link[before[at]]
        at = at[before[at] >= 0]
    meets = before >= 0
    return bool(np.any(end[before[meets]] < end[meets]))


def enclosing(start: Column, end: Column, at: Column, until: Column) -> tuple[Column, Column]:
    """All pairs (index of a span ``at`` to ``until``, index of an interval that holds it), both ends included."""
    if not len(start) or not len(at):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    rank = order(start, end)
    start, end = start[rank], end[rank]
    link = holders(end)
    if crossing(start, end, link):
        spans, intervals = swept(start, end, at, until)
        return spans, rank[intervals]
    spans, found = [], []
    span, place = np.arange(len(at)), np.searchsorted(start, at, side="right") - 1
    while len(here := np.flatnonzero(place >= 0)):
        span, place = span[here], place[here]
        holds = end[place] >= until[span]
        spans.append(span[holds])
        found.append(place[holds])
        place = link[place]
    return (np.concatenate(spans), rank[np.concatenate(found)]) if spans else (span[:0], place[:0])


def swept(start: Column, end: Column, at: Column, until: Column) -> tuple[Column, Column]:
    """As ``enclosing``, for ordered intervals that may cross: one walk through time with all that are open."""
    spans, found, active, place = [], [], [], 0
    for span in np.argsort(at, kind="stable").tolist():
        while place < len(start) and start[place] <= at[span]:
            active.append(place)
            place += 1
        active = [i for i in active if end[i] >= at[span]]
        held = [i for i in active if end[i] >= until[span]]
        found += held
        spans += [span] * len(held)
    return np.array(spans, dtype=np.int64), np.array(found, dtype=np.int64)
