"""The kernel table: durations grouped by a key, with exact integer sums and medians."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from . import Column, column

PACKED_BITS = 63
DENSE = 1 << 16


@dataclass(frozen=True)
class Table:
    """One row a group; times in ns.  ``keys``: of each row its value in every key column.

    ``median`` is the half of the sum of the two middle values, which are ``middle_low`` and ``middle_high``.
    ``stddev``: of a sample, NaN for a single value.
    ``row_of``: for each duration that was grouped, the row it went to.
    """

    keys: tuple[Column, ...]
    count: Column
    total: Column
    least: Column
    most: Column
    middle_low: Column
    middle_high: Column
    stddev: np.ndarray
    row_of: Column

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
    row_of, values = combined(keys)
    first, duration = by_duration(row_of, duration)
    count = np.diff(first, append=len(duration))
    total = np.add.reduceat(duration, first) if len(first) else column()
    return Table(
        keys=tuple(values),
        count=count,
        total=total,
        least=duration[first],
        most=duration[first + count - 1],
        middle_low=duration[first + (count - 1) // 2],
        middle_high=duration[first + count // 2],
        stddev=deviation(duration, first, count, total),
        row_of=row_of,
    )


def combined(keys: Sequence[Column]) -> tuple[Column, list[Column]]:
    """(for each entry the number of its combination, for each key its value by that number)."""
    first, row = dense(keys[0])
    values = [first]
    if not len(row):
        return column(), [column() for _ in keys]
    for key in keys[1:]:
        own, inverse = dense(key)
        both, row = dense(row * len(own) + inverse)
        values = [value[both // len(own)] for value in values] + [own[both % len(own)]]
    return row, values


def dense(key: Column) -> tuple[Column, Column]:
    """(the values in order, for each entry the number of its value): np.unique, without a sort where it can be."""
    if not len(key):
        return key, key
    least, most = int(key.min()), int(key.max())
    if least == most:
        return key[:1], np.zeros(len(key), dtype=np.int64)
    if most - least >= max(DENSE, len(key)):
        return np.unique(key, return_inverse=True)
    seen = np.zeros(most - least + 1, dtype=bool)
    seen[key - least] = True
    number = np.cumsum(seen) - 1
    return np.flatnonzero(seen) + least, number[key - least]


def by_duration(row: Column, duration: Column) -> tuple[Column, Column]:
    """(where each row begins, durations ordered by row and then length): one sort of both packed in one number,
    where they fit."""
    if not len(row):
        return column(), duration
    rows = np.arange(int(row.max()) + 1)
    least = int(duration.min())
    spread = int(duration.max()) - least + 1
    if len(rows) * spread >= 1 << PACKED_BITS:
        rank = np.lexsort((duration, row))
        return np.searchsorted(row[rank], rows), duration[rank]
    packed = row * spread
    packed += duration
    packed -= least
    packed.sort()
    first = np.searchsorted(packed, rows * spread)
    packed %= spread
    packed += least
    return first, packed


def deviation(duration: Column, first: Column, count: Column, total: Column) -> np.ndarray:
    """Standard deviation of each group as a sample, by two passes: no difference of great squares."""
    squares = np.zeros(len(first))
    for i, (begin, size) in enumerate(zip(first.tolist(), count.tolist(), strict=True)):
        apart = duration[begin : begin + size] - total[i] / size
        apart *= apart  # not np.dot, which would start threads for it
        squares[i] = apart.sum()
    return np.sqrt(np.divide(squares, count - 1, out=np.full(len(count), np.nan), where=count > 1))
