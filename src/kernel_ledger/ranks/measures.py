"""What one book says of one rank and variant, call by call: computing, communicating, both at once, and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..columnar.segments import split
from ..evidence import Book, Operations
from .communication import communicates
from .intervals import Stretch, common, length, union


@dataclass(frozen=True)
class Call:
    """One call on one rank.  ``start`` and ``end``: of its GPU work, else of its range on the host, on the book's clock
    moved by ``epoch``; ``collectives``: start and end of each communication kernel, in order; times in ns."""

    start: int
    end: int
    compute_ns: int
    communication_ns: int
    overlap_ns: int
    collectives: tuple[Stretch, ...]


def calls_of(book: Book, range_name: str) -> list[Call]:
    """The calls of a range in order.  A call is as the book has it: what was lost is missing here too."""
    epoch = book.epoch or 0
    ops, ranges = book.ops.where("range", range_name), book.ranges.where("name", range_name)
    own = {int(ops.column("iteration")[at[0]]): ops.take(at) for at in split([ops.column("iteration")])}
    hosts = sorted(zip(ranges.column("start").tolist(), ranges.column("end").tolist(), strict=True))
    return [call_of(own.get(number, ops[:0]), host, epoch) for number, host in enumerate(hosts)]


def call_of(ops: Operations, host: Stretch, epoch: int) -> Call:
    with_others = [communicates(name) for name in ops.decoded("name")]
    spans = ops.stretches()
    exchanges = sorted(span for span, shared in zip(spans, with_others, strict=True) if shared)
    computing = union(span for span, shared in zip(spans, with_others, strict=True) if not shared)
    communicating = union(exchanges)
    spans = spans or [host]
    return Call(
        start=min(start for start, _ in spans) + epoch,
        end=max(end for _, end in spans) + epoch,
        compute_ns=length(computing),
        communication_ns=length(communicating),
        overlap_ns=length(common(computing, communicating)),
        collectives=tuple((start + epoch, end + epoch) for start, end in exchanges),
    )


@dataclass(frozen=True)
class Arrivals:
    """When a rank came to the same points as the others.  ``late_ns``: after the first rank, at each point;
    ``last``: at how many of them it was the last; ``early_end_ns``: the most by which one of its collectives ended before
    another rank had begun with it, which no all-reduce can: the clocks are off by as much."""

    late_ns: tuple[int, ...]
    last: int
    early_end_ns: int


def arrivals(points: Sequence[Sequence[Stretch]]) -> list[Arrivals]:
    """``points``: of each rank, start and end of the same points in the same order.  One Arrivals a rank."""
    found = []
    for rank, mine in enumerate(points):
        late, last, early = [], 0, 0
        for number, (start, end) in enumerate(mine):
            starts = [other[number][0] for other in points]
            late.append(start - min(starts))
            last += start == max(starts) and start > min(starts)
            early = (
                max(early, max(s for r, s in enumerate(starts) if r != rank) - end) if len(points) > 1 else 0
            )
        found.append(Arrivals(tuple(late), last, early))
    return found
