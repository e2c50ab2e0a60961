"""Single records of a Kineto trace that cannot be true."""

from __future__ import annotations

import copy

from .bench import Bench, events
from .fault import DISAGREE, NOT_QUOTED, UNKNOWN, Fault, declare
from .torch_profiler import muls

FAULTS: list[Fault] = []
fault = declare(FAULTS)


@fault(
    "ts-0", "A kernel starts at 0",
    "Kineto writes ts 0 for a record whose time CUPTI did not fill in.",
    "structure", "fail", "starts at 0, which no clock says", row=NOT_QUOTED,
)  # fmt: skip
def ts_zero(bench: Bench) -> None:
    """The first kernel of eager has ts 0."""
    with bench.trace("eager") as trace:
        events(trace, "kernel")[0]["ts"] = 0


@fault(
    "no-duration", "A kernel took no time",
    "Negative durations are clamped to 0 by the tool or by a script.",
    "structure", "fail", "took no time", row=DISAGREE, also="agreement",
)  # fmt: skip
def no_duration(bench: Bench) -> None:
    """One kernel of eager's mul has dur 0."""
    with bench.trace("eager") as trace:
        muls(trace)[2]["dur"] = 0


@fault(
    "negative-duration", "A kernel ends before it starts",
    "End and start come from two clocks, or from two buffers.",
    "structure", "fail", "ends 120000 ns before it starts", row=DISAGREE, also="agreement",
)  # fmt: skip
def negative_duration(bench: Bench) -> None:
    """One kernel of eager's mul has a negative dur."""
    with bench.trace("eager") as trace:
        muls(trace)[2]["dur"] = -120


@fault(
    "overlap-1-ns", "Two kernels of one stream overlap by one nanosecond",
    "Starts and ends are rounded outwards, or two sessions are merged.",
    "structure", "fail", "overlap by 1 ns on stream 7", row=NOT_QUOTED,
)  # fmt: skip
def overlap(bench: Bench) -> None:
    """One kernel of eager lasts to 1 ns behind the start of the next; touching is healthy."""
    with bench.trace("eager") as trace:
        first, second = events(trace, "kernel")[:2]
        first["dur"] = (round(second["ts"] * 1000) - round(first["ts"] * 1000) + 1) / 1000


@fault(
    "fraction-of-a-nanosecond", "A time is no whole number of nanoseconds",
    "A trace that went through a float: 17 digits are too few for microseconds since 1970 with three decimals.",
    "structure", "fail", "not a whole number of nanoseconds", row=UNKNOWN, also="conservation identity agreement",
)  # fmt: skip
def fraction(bench: Bench) -> None:
    """One kernel of eager has a ts with four decimals."""
    with bench.trace("eager") as trace:
        events(trace, "kernel")[0]["ts"] = 1000000.0001


@fault(
    "two-calls-one-correlation", "Two launching calls share a correlation id",
    "Two sessions, or two processes, in one trace.",
    "structure", "fail", "2 launching calls share correlation", row=NOT_QUOTED,
)  # fmt: skip
def two_calls(bench: Bench) -> None:
    """A cudaLaunchKernel event of eager stands twice."""
    with bench.trace("eager") as trace:
        trace["traceEvents"].append(copy.deepcopy(events(trace, "cuda_runtime")[0]))


@fault(
    "no-correlation", "A kernel has no correlation id",
    "Kineto's output for graph launches and some plug-ins.",
    "structure", "fail", "has no correlation id", row=UNKNOWN, also="conservation identity agreement",
)  # fmt: skip
def no_correlation(bench: Bench) -> None:
    """One kernel event of eager lacks the argument correlation."""
    with bench.trace("eager") as trace:
        del events(trace, "kernel")[0]["args"]["correlation"]
