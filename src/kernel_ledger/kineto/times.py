"""Kineto's microseconds as exact integer nanoseconds, from their text and never through a float."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import msgspec
import numpy as np

from ..columnar import Column, column

COMMA, MINUS, DOT, ZERO, NINE = b",-.09"
DIGITS = 18
Text = bytes | msgspec.Raw


def nanoseconds(microseconds: Text | Decimal | None) -> int | None:
    """Exact ns of a JSON number, None for an absent one; ValueError where it is not a whole number of ns."""
    value = microseconds
    if value is not None and not isinstance(value, Decimal):
        value = msgspec.json.decode(value, type=Decimal | None) if bytes(value) else None
    if value is None:
        return None
    if not value.is_finite() or value * 1000 != int(value * 1000):
        raise ValueError(f"{value} us is not a whole number of nanoseconds")
    return int(value * 1000)


def column_of_ns(texts: Sequence[Text]) -> Column:
    """Exact ns of many JSON numbers.  Raises ValueError where one is absent or no whole number of ns.

    Numbers with just three decimals, as Kineto writes them, lose their dot and are read together; if any one
    differs, each is read on its own.
    """
    if not texts:
        return column()
    together = b",".join(texts)
    raw = np.frombuffer(together, dtype=np.uint8)
    dots = np.flatnonzero(raw == DOT)
    ends = np.append(np.flatnonzero(raw == COMMA), len(raw))
    if len(dots) == len(ends) == len(texts) and np.all(ends - dots == 4):
        widths = dots - np.append(0, ends[:-1] + 1)
        plain = np.count_nonzero((raw >= ZERO) & (raw <= NINE)) == len(raw) - len(dots) - len(ends) + 1
        if plain and widths.min() > 0 and widths.max() <= DIGITS - 3:
            return np.fromstring(together.replace(b".", b""), dtype=np.int64, sep=",")
    return column([one_of_ns(text) for text in texts])


def one_of_ns(text: Text) -> int:
    text = bytes(text)
    whole, _, part = text.partition(b".")
    if whole.isdigit() and len(part) <= 3 and (part.isdigit() or not part):
        return int(whole + part.ljust(3, b"0"))
    value = nanoseconds(text)
    if value is None:
        raise ValueError("an event has no time")
    return value
