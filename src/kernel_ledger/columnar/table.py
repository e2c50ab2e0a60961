"""The kernel table: durations grouped by a key, with exact integer sums and medians."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from . import Column, column

PACKED_BITS = 63


@dataclass(frozen=True)
class Table:
    """One row a group; times in ns.  ``keys``: of each row its value in every key column.

    ``median`` is the half of the sum of the two middle values, which are ``middle_low`` and ``middle_high``.
    ``stddev``: of a sample, NaN for a single value.
    """

    keys: tuple[Column, ...]
    count: Column
    total: Column
    least: Column
    most: Column
    middle_low: Column
    middle_high: Column
    stddev: np.ndarray

    def __len__(self) -> int:
        return len(self.count)

    def medians(self) -> list[int | float]:
        """Integers, and halves where two middle values differ by an odd number."""
        doubled = (self.middle_low + self.middle_high).tolist()
        return [value // 2 if value % 2 == 0 else value / 2 for value in doubled]

    def rows(self) -> Iterator[tuple]:
        """(*keys, count, total, median, least, most, stddev or None), the greatest total first, then by key."""
        order = np.lexsort((*reversed(self.keys), -self.total))
        columns = [c[order].tolist() for c in (*self.keys, self.count, self.total)]
        medians = self.medians()
        ends = [c[order].tolist() for c in (self.least, self.most)]
        spread = [None if value != value else value for value in self.stddev[order].tolist()]
        yield from zip(*columns, [medians[i] for i in order], *ends, spread, strict=True)


def grouped(keys: Sequence[Column], duration: Column) -> Table:
    """Group ``duration`` by the combination of ``keys``, all of one length."""
    dense, values = combined(keys)
    rank = by_duration(dense, duration)
    dense, duration = dense[rank], duration[rank]
    first = np.flatnonzero(np.diff(dense, prepend=-1))
    count = np.diff(first, append=len(dense))
    total = np.add.reduceat(duration, first) if len(first) else column()
    last = first + count - 1
    return Table(
        keys=tuple(v[dense[first]] for v in values),
        count=count,
        total=total,
        least=duration[first],
        most=duration[last],
        middle_low=duration[first + (count - 1) // 2],
        middle_high=duration[first + count // 2],
        stddev=deviation(duration, first, count, total),
    )


def combined(keys: Sequence[Column]) -> tuple[Column, list[Column]]:
    """(a dense number for each combination, and for each key its value by that number)."""
    dense, values = np.zeros(len(keys[0]), dtype=np.int64), []
    for key in keys:
        own, inverse = np.unique(key, return_inverse=True)
        both, dense = np.unique(dense * len(own) + inverse, return_inverse=True)
        values = (
            [v[both // len(own)] for v in values] + [own[both % len(own)]]
            if len(own)
            else [own] * (len(values) + 1)
        )
    return dense.astype(np.int64, copy=False), values


def by_duration(dense: Column, duration: Column) -> Column:
    """Order by group, then duration.  One sort of both packed in one number, where they fit."""
    if not len(dense):
        return column()
    least = duration.min()
    spread = int(duration.max()) - int(least) + 1
    if (int(dense.max()) + 1) * spread < 1 << PACKED_BITS:
        return np.argsort(dense * spread + (duration - least), kind="stable")
    return np.lexsort((duration, dense))


def deviation(duration: Column, first: Column, count: Column, total: Column) -> np.ndarray:
    """Standard deviation of each group as a sample, by two passes: no difference of great squares."""
    if not len(first):
        return np.zeros(0)
    mean = total / count
    apart = duration - np.repeat(mean, count)
    squares = np.add.reduceat(apart * apart, first)
    return np.sqrt(np.divide(squares, count - 1, out=np.full(len(count), np.nan), where=count > 1))
