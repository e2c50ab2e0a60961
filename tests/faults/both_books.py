"""Faults of one kernel in one of the books: renamed, lost, doubled, scaled, merged, or outside every range."""

from __future__ import annotations

from dataclasses import replace

import capture_factory as factory

from .bench import Bench
from .fault import Fault, declare

FAULTS: list[Fault] = []
fault = declare(FAULTS)
MUL = ("kernel", "eager", "Mul")


def launches(calls: list, change) -> list:
    """Each call with its launches changed; ``change(iteration, launch events)`` gives the events kept."""
    return [(v, i, begin, end, change(v, i, list(events))) for v, i, begin, end, events in calls]


def swapped(events: list, of: str, **fields: object) -> list:
    """The launches of the symbol ``of`` with other fields."""
    return [(replace(e[0], **fields), *e[1:]) if e[0].symbol == of else e for e in events]


def spaced(calls: list, ns: int = 500_000) -> list:
    """The calls with so much more time between them, for something added to each."""
    return [
        (v, i, begin + n * ns, end + n * ns, [(e[0], e[1], *(t + n * ns for t in e[2:])) for e in events])
        for n, (v, i, begin, end, events) in enumerate(calls)
    ]


def once_more(events: list, index: int) -> list:
    """The launches of a call, and one of them once more behind the last."""
    launch, correlation, (host, _, stop) = events[index][0], events[index][1], events[-1][2:]
    return [*events, (launch, correlation + 90_000, host + 1, stop + 10, stop + 10 + launch.ns)]


@fault(
    "kernel-renamed", "One kernel has another name in one book",
    "A library's heuristics, or autotuning, pick another kernel in the second process.",
    "identity", "fail", "is torch_only", "heuristics", row=(*MUL, "torch_only"), also="agreement conservation",
)  # fmt: skip
def kernel_renamed(bench: Bench) -> None:
    """nsys records eager's mul under another symbol, as often and as long."""
    other = factory.MUL.replace("Mul", "Div")
    bench.tamper("nsys", lambda calls: launches(calls, lambda v, i, e: swapped(e, factory.MUL, symbol=other)))


@fault(
    "kernel-dropped", "One kernel is in one book only",
    "A profiler loses the records of one kernel, or never had them.",
    "identity", "fail", "is nsys_only", row=(*MUL, "nsys_only"), also="agreement conservation",
)  # fmt: skip
def kernel_dropped(bench: Bench) -> None:
    """Kineto's trace lacks every record of eager's mul; its launching calls are there."""
    with bench.trace("eager") as trace:
        trace["traceEvents"] = [
            e for e in trace["traceEvents"] if e.get("cat") != "kernel" or "Mul" not in e["name"]
        ]


@fault(
    "kernel-doubled", "Every launch of one kernel stands twice in one book",
    "A buffer is delivered twice, or a table joins a kernel to each of two enclosing ranges.",
    "conservation", "fail", "torch counted 10, nsys counted 20", row=(*MUL, "disagree"),
)  # fmt: skip
def kernel_doubled(bench: Bench) -> None:
    """nsys has a second launch of eager's mul in each call, right behind the last kernel of the call."""
    double = lambda v, i, events: once_more(events, 1) if v == "eager" else events  # noqa: E731
    bench.tamper("nsys", lambda calls: launches(spaced(calls), double))


def scaled(bench: Bench, factor: float) -> None:
    bench.change("eager", 1, nsys_ns=round(120_000 * factor))


@fault(
    "kernel-3-percent", "One kernel takes 3 % longer in one book",
    "Another schedule, clock or neighbour in one pass (measured: 2.1 % on a GELU between other variants).",
    "agreement", "fail", "differs by -2.9126 %, more than 1", "clocks", row=(*MUL, "disagree"),
)  # fmt: skip
def kernel_three_percent(bench: Bench) -> None:
    """nsys's durations of eager's mul are scaled by 1.03."""
    scaled(bench, 1.03)


@fault(
    "kernel-1.1-percent", "One kernel takes 1.1 % longer in one book: just over the limit",
    "The smallest difference that the tolerance of 1 % must not let pass; 0.9 % is in the healthy captures.",
    "agreement", "fail", "differs by -1.088 %", row=(*MUL, "disagree"),
)  # fmt: skip
def kernel_just_over(bench: Bench) -> None:
    """nsys's durations of eager's mul are scaled by 1.011."""
    scaled(bench, 1.011)


@fault(
    "microseconds-for-nanoseconds", "One book's times are a thousand times too great",
    "Microseconds are read as nanoseconds, or the other way round; the tools differ in their unit.",
    "agreement", "fail", "differs by -99.9 %", row=(*MUL, "disagree"),
)  # fmt: skip
def thousandfold(bench: Bench) -> None:
    """nsys's durations of eager's mul are scaled by 1000."""
    scaled(bench, 1000)


@fault(
    "short-kernel-off", "A kernel of 2 us is 15 % longer in one book",
    "Short kernels get 200 ns more; that must not hide a real difference.",
    "agreement", "fail", "differs by -13.0435 %, more than 11", row=(*MUL, "disagree"),
)  # fmt: skip
def short_kernel(bench: Bench) -> None:
    """eager's mul takes 2,000 ns in torch and 2,300 ns in nsys; 2,150 ns are in the healthy captures."""
    bench.change("eager", 1, ns=2_000, nsys_ns=2_300)


@fault(
    "short-names-merged", "Two kernels with one short name are one kernel in one book",
    "Tables by short name (`:base`, or a parser that cuts at `<`) merge template instances.",
    "identity", "fail", "is torch_only", row=("kernel", "eager", "AddFunctor", "torch_only"),
    also="agreement conservation",
)  # fmt: skip
def short_names_merged(bench: Bench) -> None:
    """nsys records eager's add, another instance of the same template, under the symbol of mul."""
    add = factory.MUL.replace("Mul", "Add")
    bench.tamper("nsys", lambda calls: launches(calls, lambda v, i, e: swapped(e, add, symbol=factory.MUL)))


@fault(
    "short-name-counts-for-two", "Two kernels share the short name that the program announced once",
    "A workload announces a kernel by its own name; a second template instance slips in beside it.",
    "conservation", "fail", "10 launches of fused_chain_vector were announced", "20 in 2 kernels",
    row=("kernel", "fused", "fused_chain_vector", "verified"),
)  # fmt: skip
def short_name_counts_for_two(bench: Bench) -> None:
    """fused launches a second kernel, fused_chain_vector(double const*), in both books."""
    launch = replace(bench.scenario.variants["fused"][1], symbol="_Z18fused_chain_vectorPKd", ns=50_000)
    bench.scenario.variants["fused"].append(launch)


@fault(
    "announced-launches-missing", "Both books have fewer launches than the program announced",
    "A child process or another thread's context launches them, where neither tool looks.",
    "conservation", "fail", "the program announced 20, torch counted 10, nsys counted 10",
    row=("kernel", "fused", "fused_chain_vector", "disagree"),
)  # fmt: skip
def announced_launches_missing(bench: Bench) -> None:
    """The plan announces two launches a call of fused's kernel; both books have one."""
    bench.scenario.kernels["fused"]["fused_chain_vector"] = 2


@fault(
    "not-a-multiple", "A count is no multiple of the iterations, though both books agree",
    "A warm-up or an autotuning call falls into the recorded part of both passes.",
    "conservation", "fail", "11 is not a multiple of the 10 iterations", row=(*MUL, "disagree"),
)  # fmt: skip
def not_a_multiple(bench: Bench) -> None:
    """Both books have one more launch of eager's mul, in the last call."""
    last = lambda v, i, events: once_more(events, 1) if (v, i) == ("eager", 9) else events  # noqa: E731
    bench.scenario.tamper = lambda book, calls: launches(spaced(calls), last)


@fault(
    "never-launched", "A kernel that the program announced is in neither book",
    "A fallback path runs instead of the kernel, or both profilers lose it.",
    "conservation", "fail", "the program announced 20, torch counted 0, nsys counted 0",
    row=("kernel", "fused", "never_launched", "disagree"), also="agreement",
)  # fmt: skip
def never_launched(bench: Bench) -> None:
    """The plan announces a kernel never_launched, two launches a call."""
    bench.scenario.kernels["fused"]["never_launched"] = 2


@fault(
    "outside-every-range", "A kernel is launched outside every announced range, in both books",
    "The capture range is wider than the announced calls, so warm-up or checks are in the sums.",
    "conservation", "fail", "launched outside every announced range", row=("kernel", "", "Sub", "disagree"),
)  # fmt: skip
def outside(bench: Bench) -> None:
    """Behind eager's last call both books have a kernel whose launching call lies in no range."""
    stray = factory.Launch(factory.MUL.replace("Mul", "Sub"), "aten::sub", 40_000)

    def add(calls: list) -> list:
        variant, iteration, begin, end, events = calls[-1]
        if variant not in bench.scenario.variants or variant == "fused":
            return calls
        stop = events[-1][4]
        events = [*events, (stray, 77_777, end + 10, stop + 10, stop + 40_010)]
        return [*calls[:-1], (variant, iteration, begin, end, events)]

    bench.scenario.tamper = lambda book, calls: (
        add(calls) if book == "nsys" or calls[0][0] == "eager" else calls
    )


@fault(
    "other-grid", "One kernel has another grid in one book",
    "Another shape, or another occupancy heuristic, in one of the passes: equal names, other work.",
    "identity", "fail", "is torch_only", row=("kernel", "eager", "<<<1024x1x1", "torch_only"),
    also="agreement conservation",
)  # fmt: skip
def other_grid(bench: Bench) -> None:
    """nsys records eager's mul with a grid of 512 blocks."""
    change = lambda v, i, e: swapped(e, factory.MUL, grid=(512, 1, 1))  # noqa: E731
    bench.tamper("nsys", lambda calls: launches(calls, change))


@fault(
    "copy-missing", "A copy is in one book only",
    "A tool that traces kernels alone has no memcpy; the variant's time is then that of nothing.",
    "identity", "fail", "is torch_only", row=("memory", "copy", "Memcpy", "torch_only"),
    also="agreement conservation",
)  # fmt: skip
def copy_missing(bench: Bench) -> None:
    """report.sqlite has no row in CUPTI_ACTIVITY_KIND_MEMCPY."""
    bench.sql("DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY")


@fault(
    "variant-empty-in-one-book", "One variant's launches are missing altogether from nsys",
    "The recording ends before the last variant: a partial capture that looks whole.",
    "conservation", "fail", "torch counted 10, nsys counted 0", row=("kernel", "fused", "fused_chain", "unknown"),
    also="identity agreement",
)  # fmt: skip
def variant_empty(bench: Bench) -> None:
    """nsys has neither range nor launch of fused."""
    bench.tamper("nsys", lambda calls: [c for c in calls if c[0] != "fused"])
