"""What both books are made of: GPU operations, ranges and findings, whoever recorded them.

All times are integer nanoseconds on the clock of the book they come from; the two clocks are never compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median, stdev

import numpy as np

from .columnar import Column
from .columnar import statistics as exact
from .columnar.records import Records


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


class Operations(Records[GpuOp]):
    """GPU operations of a book, or a selection of them."""

    row = GpuOp
    numbers = (
        "start",
        "end",
        "device",
        "stream",
        "correlation",
        "bytes",
        "launch_start",
        "iteration",
        "process",
    )
    coded = ("level", "name", "symbol", "grid", "block", "thread", "operator", "input_shapes", "range",
             "thread_range", "innermost", "graph", "graph_node")  # fmt: skip
    default = {
        **dict.fromkeys(("grid", "block", "thread", "range", "thread_range", "innermost", "graph_node")),
        "operator": "",
        "input_shapes": "",
        "graph": False,
    }

    @property
    def start(self) -> Column:
        return self.column("start")

    @property
    def end(self) -> Column:
        return self.column("end")

    @property
    def duration(self) -> Column:
        return self.end - self.start

    def stretches(self) -> list[tuple[int, int]]:
        """(start, end) of each."""
        return list(zip(self.start.tolist(), self.end.tolist(), strict=True))


class Instances(Records[RangeInstance]):
    """Instances of announced ranges on the host."""

    row = RangeInstance
    numbers = ("start", "end", "process")
    coded = ("name",)

    @property
    def duration(self) -> Column:
        return self.column("end") - self.column("start")

    def count(self, name: str) -> int:
        """How many instances a range has."""
        return int(np.count_nonzero(self.has("name", name)))


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
    ops: Operations
    ranges: Instances
    findings: tuple[Finding, ...] = ()
    launches_without_kernel: int = 0
    graphs: int = 0
    epoch: int | None = None
    rank: int | None = None

    def __post_init__(self) -> None:
        """Members that were given one by one become columns."""
        if not isinstance(self.ops, Operations):
            object.__setattr__(self, "ops", Operations.of(self.ops))
        if not isinstance(self.ranges, Instances):
            object.__setattr__(self, "ranges", Instances.of(self.ranges))


@dataclass(frozen=True)
class Statistics:
    """Durations of a group of operations in ns; ``median`` is a half where two middle values differ."""

    count: int
    total: int
    median: float
    least: int
    most: int
    stddev: float | None
    durations: Column | tuple[float, ...] = field(repr=False, default=())


def statistics(durations: Column | Sequence[float]) -> Statistics | None:
    """Statistics of durations, or None for none: nothing measured is not a zero."""
    if not len(durations):
        return None
    if isinstance(durations, np.ndarray):
        return Statistics(
            count=len(durations),
            total=exact.total(durations),
            median=exact.middle(durations),
            least=int(durations.min()),
            most=int(durations.max()),
            stddev=exact.deviation(durations),
            durations=durations,
        )
    spread = stdev(durations) if len(durations) > 1 else None
    middle = median(durations)
    middle = int(middle) if middle == int(middle) else middle
    return Statistics(
        len(durations), sum(durations), middle, min(durations), max(durations), spread, tuple(durations)
    )
