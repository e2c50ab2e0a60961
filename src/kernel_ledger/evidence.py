"""What both books are made of: GPU operations, ranges and findings, whoever recorded them.

All times are integer nanoseconds on the clock of the book they come from; the two clocks are never compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class GpuOp:
    """One kernel launch, memcpy or memset.

    ``level``: "kernel" or "memory".  ``name``: demangled, the join key of the two books; ``symbol``: as
    recorded.  ``launch_start``: start of the API call that launched it, None where no call was recorded.
    ``range``: the announced range around that call in time, on any thread, ``iteration`` its index, both None
    outside them.  Of nsys's book: ``thread_range``, the announced range around the call on its own thread, and
    ``innermost``, the innermost range of any name there; nsys's CSVs go by these.
    ``graph``: launched by the replay of a CUDA graph, whose operations all have the correlation of that one call;
    ``graph_node``: which node of it, where the tool says so.  ``process``: of nsys's book, which may hold several.
    """

    level: str
    name: str
    symbol: str
    start: int
    end: int
    device: int | None
    stream: int | None
    correlation: int
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    bytes: int | None = None
    launch_start: int | None = None
    thread: object = None
    operator: str = ""
    input_shapes: str = ""
    range: str | None = None
    iteration: int | None = None
    thread_range: str | None = None
    innermost: str | None = None
    graph: bool = False
    graph_node: int | None = None
    process: int | None = None

    @property
    def duration(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class RangeInstance:
    """One instance of an announced range on the host, of a process as in GpuOp."""

    name: str
    start: int
    end: int
    process: int | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with the evidence: which check it concerns, what, and in which file."""

    check: str
    text: str
    file: str


@dataclass(frozen=True)
class Book:
    """All that one tool recorded of one process: GPU operations, announced ranges, and what is odd.

    ``graphs``: CUDA graphs recorded as one block each, whose kernels nobody can count.
    ``epoch``: Unix time in ns of the book's zero, where the tool says so: books of one host then have one clock.
    ``rank``: which rank the tool says it recorded.
    """

    source: str
    ops: tuple[GpuOp, ...]
    ranges: tuple[RangeInstance, ...]
    findings: tuple[Finding, ...] = ()
    launches_without_kernel: int = 0
    graphs: int = 0
    epoch: int | None = None
    rank: int | None = None


def place(ops: Sequence[GpuOp], ranges: Sequence[RangeInstance]) -> tuple[GpuOp, ...]:
    """Give each operation the announced range in whose time its launching call began.

    Announced ranges of a process follow one another in time, so position in time is enough, and a backward kernel
    that another thread launched is placed too.
    """
    if len({r.process for r in ranges}) < 2:
        return place_in_process(ops, ranges)
    own: dict[int | None, list[int]] = {}
    for index, op in enumerate(ops):
        own.setdefault(op.process, []).append(index)
    placed = list(ops)
    for process, indices in own.items():
        mine = [r for r in ranges if r.process == process]
        for index, op in zip(indices, place_in_process([ops[i] for i in indices], mine), strict=True):
            placed[index] = op
    return tuple(placed)


def place_in_process(ops: Sequence[GpuOp], ranges: Sequence[RangeInstance]) -> tuple[GpuOp, ...]:
    """The same for the operations and ranges of one process."""
    import bisect

    ordered = sorted(ranges, key=lambda r: (r.start, r.end))
    starts = [r.start for r in ordered]
    counts: dict[str, int] = {}
    index = []
    for instance in ordered:
        index.append(counts.get(instance.name, 0))
        counts[instance.name] = index[-1] + 1
    placed = []
    for op in ops:
        at = -1 if op.launch_start is None else bisect.bisect_right(starts, op.launch_start) - 1
        if at >= 0 and op.launch_start <= ordered[at].end:
            op = replace(op, range=ordered[at].name, iteration=index[at])
        placed.append(op)
    return tuple(placed)


@dataclass(frozen=True)
class Statistics:
    """Durations of a group of operations in ns; ``median`` is a half where two middle values differ."""

    count: int
    total: int
    median: float
    least: int
    most: int
    stddev: float | None
    durations: tuple[int, ...] = field(repr=False, default=())


def statistics(durations: Sequence[int]) -> Statistics | None:
    """Statistics of durations, or None for none: nothing measured is not a zero."""
    from statistics import median, stdev

    if not durations:
        return None
    spread = stdev(durations) if len(durations) > 1 else None
    middle = median(durations)
    middle = int(middle) if middle == int(middle) else middle
    return Statistics(
        len(durations), sum(durations), middle, min(durations), max(durations), spread, tuple(durations)
    )
