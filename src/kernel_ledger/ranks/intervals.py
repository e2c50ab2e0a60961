"""Stretches of time: unions and what two of them have in common.  All in integer ns, ends excluded."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..columnar import Column, column

Stretch = tuple[int, int]


def union(stretches: Iterable[Stretch]) -> list[Stretch]:
    """The same time as disjoint stretches in order."""
    merged: list[Stretch] = []
    for start, end in sorted(stretches):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def length(stretches: Iterable[Stretch]) -> int:
    """Of disjoint stretches, in ns."""
    return sum(end - start for start, end in stretches)


def common(one: list[Stretch], other: list[Stretch]) -> list[Stretch]:
    """The time that two unions share, as a union."""
    found, i, j = [], 0, 0
    while i < len(one) and j < len(other):
        start, end = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if start < end:
            found.append((start, end))
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return found


def any_touches(start: Column, end: Column, of: list[Stretch]) -> bool:
    """Whether any of these stretches shares time with a union."""
    if not of:
        return False
    begins, ends = (column(side) for side in zip(*of, strict=True))
    at = np.searchsorted(begins, end, side="left") - 1  # the last one that begins before the stretch ends
    return bool(np.any((at >= 0) & (ends[at] > start)))
