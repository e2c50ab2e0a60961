"""Exact median and standard deviation of integer columns: the same values, to the last bit, as the module statistics."""

from __future__ import annotations

import statistics as of_python
from decimal import Decimal, localcontext

import numpy as np

from . import Column

HALF_BITS = 16
WIDEST = 1 << 36  # of a spread, and
MANY = 1 << 22  # of a number of values: products of halves then add up to less than 2^63
SUM_LIMIT = 1 << 62
DIGITS = 60


def middle(values: Column) -> int | float:
    """The median; a half where the two middle values differ by an odd number."""
    at = (len(values) - 1) // 2, len(values) // 2
    ordered = np.partition(values, at)
    both = int(ordered[at[0]]) + int(ordered[at[1]])
    return both // 2 if both % 2 == 0 else both / 2


def total(values: Column) -> int:
    """The sum, also where it takes more than 64 bits."""
    most = max(abs(int(values.min())), abs(int(values.max())))
    return int(values.sum()) if most * len(values) < SUM_LIMIT else sum(values.tolist())


def deviation(values: Column) -> float | None:
    """Standard deviation of a sample; None for a single value."""
    count = len(values)
    if count < 2:
        return None
    least, most = int(values.min()), int(values.max())
    if most - least >= WIDEST or count > MANY:
        return of_python.stdev(values.tolist())
    apart = values - least
    low, high = apart & ((1 << HALF_BITS) - 1), apart >> HALF_BITS
    squares = int((low * low).sum()) + (int((low * high).sum()) << (HALF_BITS + 1))
    squares += int((high * high).sum()) << (2 * HALF_BITS)
    numerator = count * squares - int(apart.sum()) ** 2  # a whole number: nothing is lost before the root
    with localcontext() as context:
        context.prec = DIGITS
        return float((Decimal(numerator) / (count * (count - 1))).sqrt())


def absolute_deviation(values: Column, centre: float) -> float:
    """Median of the distances from ``centre``, which is a whole number or a half."""
    return middle(np.abs(2 * values - int(2 * centre))) / 2
