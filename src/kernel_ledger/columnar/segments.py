"""Entries gathered by a key, in the order in which the keys are met: what a dictionary of lists would hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from . import Column, column
from .table import combined


def segments(*keys: Column) -> tuple[Column, Column]:
    """(indices of the entries, those of one combination of keys together; where each combination begins).

    Combinations stand in the order of their first entries, and entries in their own.
    """
    number, _ = combined(keys)
    if not len(number):
        return column(), column()
    rank = np.argsort(number, kind="stable")
    begin = begins(number[rank])
    met = np.argsort(rank[begin], kind="stable")
    if np.all(met[1:] > met[:-1]):
        return rank, begin
    place = np.empty(len(met), dtype=np.int64)
    place[met] = np.arange(len(met))
    rank = rank[np.argsort(place[groups(begin, len(rank))], kind="stable")]
    return rank, begins(number[rank])


def begins(key: Column) -> Column:
    """Where each run of equal values begins."""
    return np.flatnonzero(np.append(True, key[1:] != key[:-1])) if len(key) else column()


def groups(begin: Column, count: int) -> Column:
    """For each of ``count`` entries the number of the run that it stands in."""
    return np.repeat(np.arange(len(begin)), np.diff(begin, append=count))


def numbered(key: Column) -> Column:
    """For each entry how many with its key stand before it."""
    rank = np.argsort(key, kind="stable")
    begin = begins(key[rank])
    found = np.empty(len(key), dtype=np.int64)
    found[rank] = np.arange(len(key)) - np.repeat(begin, np.diff(begin, append=len(key)))
    return found


def split(keys: Sequence[Column]) -> Iterator[Column]:
    """The indices of each combination of keys, in the order of first entries."""
    rank, begin = segments(*keys)
    if len(rank):
        yield from np.split(rank, begin[1:])


def sums(values: Column, *keys: Column) -> Column:
    """The sum of each combination of keys."""
    rank, begin = segments(*keys)
    return np.add.reduceat(values[rank], begin) if len(rank) else column()


def spans(start: Column, end: Column, *keys: Column) -> Column:
    """For each combination of keys the time from its first start to its last end."""
    rank, begin = segments(*keys)
    if not len(rank):
        return column()
    return np.maximum.reduceat(end[rank], begin) - np.minimum.reduceat(start[rank], begin)


def covered(start: Column, end: Column, *keys: Column) -> Column:
    """For each combination of keys the time in which at least one of its spans ran; the union of them."""
    rank, begin = segments(*keys)
    if not len(rank):
        return column()
    group = groups(begin, len(rank))
    order = np.lexsort((end[rank], start[rank], group))
    start, end = start[rank][order], end[rank][order]
    until = running_most(end, group)
    before = np.append(start[:1], until[:-1])
    before[begin] = start[begin]
    fresh = np.maximum(0, end - np.maximum(start, before))
    return np.add.reduceat(fresh, begin)


def running_most(values: Column, group: Column) -> Column:
    """The greatest value so far within each group; groups stand together, in ascending order.

    Values are made to rise from group to group, so that one pass over all of them does.
    """
    least = int(values.min())
    width = int(values.max()) - least + 1
    if width * (int(group[-1]) + 1) >= 1 << 62:
        parts = np.split(values, begins(group)[1:])
        return np.concatenate([np.maximum.accumulate(part) for part in parts])
    lift = group * width
    return np.maximum.accumulate(values - least + lift) - lift + least
