"""One time axis for two clocks: each book is shifted so that a variant's first range begins at one time.

The books' clocks are never compared (they are of different processes).  Within a variant and a book, all
distances are as recorded, to the nanosecond.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .slices import Slice

GAP_NS = 1_000_000  # of empty axis between one variant and the next


@dataclass(frozen=True)
class Section:
    """What one book holds of one variant.  ``zero``: the start of its first announced range on the book's
    clock, or of its first record where there is no range (``aligned`` is then False)."""

    book: str
    variant: str
    slices: Sequence[Slice]
    zero: int
    aligned: bool


@dataclass(frozen=True)
class Stretch:
    """A variant's part of the axis, in ns; ``origin``: where its first range begins in each book."""

    variant: str
    start: int
    origin: int
    end: int


def section(book: str, variant: str, slices: Sequence[Slice], range_name: str) -> Section | None:
    """A book's part of a variant, or None where the book holds nothing of it."""
    if not slices:
        return None
    starts = [s.start for s in slices if s.category == "range" and s.name == range_name]
    return Section(
        book, variant, slices, min(starts) if starts else min(s.start for s in slices), bool(starts)
    )


def divide(slices: Iterable[Slice], ranges: Mapping[str, str]) -> dict[str, list[Slice]]:
    """Slices of a process that ran all variants, by variant: each from its first range to the next one's.

    ``ranges``: range name -> variant.  What came before the first range goes with the first variant.
    """
    slices = list(slices)
    first: dict[str, int] = {}
    for one in slices:
        if one.category == "range" and one.name in ranges:
            variant = ranges[one.name]
            first[variant] = min(one.start, first.get(variant, one.start))
    if not first:
        return {}
    bounds = sorted((start, variant) for variant, start in first.items())
    found: dict[str, list[Slice]] = {variant: [] for _, variant in bounds}
    for one in slices:
        before = [variant for start, variant in bounds if start <= one.place]
        found[before[-1] if before else bounds[0][1]].append(one)
    return found


def stretches(variants: Iterable[str], sections: Sequence[Section]) -> list[Stretch]:
    """The axis: variants one after another, each as long as the longer of its books."""
    found, cursor = [], GAP_NS
    for variant in variants:
        own = [s for s in sections if s.variant == variant]
        if not own:
            continue
        lead = max(s.zero - min(one.start for one in s.slices) for s in own)
        length = max(max(one.last for one in s.slices) - s.zero for s in own)
        found.append(Stretch(variant, cursor, cursor + lead, cursor + lead + length))
        cursor = found[-1].end + GAP_NS
    return found
