"""What must hold: ratios of two measurements of one run on one machine, and limits of memory and growth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log

from .measure import Measurement

M = 1_000_000
SMALL = 100_000
LARGE = 5 * M
Key = tuple[str, int]


@dataclass(frozen=True)
class Bar:
    """``value`` must be at least (``sense`` ">=") or at most ("<=") ``limit``."""

    what: str
    value: float
    sense: str
    limit: float

    @property
    def holds(self) -> bool:
        return self.value >= self.limit if self.sense == ">=" else self.value <= self.limit


def bars(found: Mapping[Key, Measurement]) -> list[Bar]:
    """All bars for which there are measurements; a peer that is not installed leaves its bars out."""
    made: list[Bar] = []

    def ratio(what: str, peer: Key, ours: Key, of: str, limit: float) -> None:
        if peer in found and ours in found:
            value = getattr(found[peer], of) / getattr(found[ours], of)
            made.append(Bar(f"{what}: {of} of {peer[0]} / ours", value, ">=", limit))

    def equal(peer: Key, ours: Key) -> None:
        if peer in found and ours in found:
            both = found[peer].answer, found[ours].answer
            apart = sum(abs(both[0][key] - both[1][key]) for key in ("kernels", "total_ns"))
            made.append(Bar(f"{ours[0]} and {peer[0]}: kernels and ns that they differ by", apart, "<=", 0))

    table, attributed = ("kineto_table", M), ("kineto_attributed", M)
    ratio("kernel table from Kineto", ("hta", M), table, "seconds", 25)
    ratio("the same with operators", ("hta", M), attributed, "seconds", 18)
    ratio("the same with operators", ("hta", M), attributed, "peak_mb", 4)
    ratio("kernel table from nsys", ("cuda_gpu_kern_sum", M), ("nsys_table", M), "process_s", 2.5)
    ratio("kernels by NVTX range, 1 thread", ("nvtx_kern_sum", M), ("nsys_by_range", M), "process_s", 2.5)
    many = "nvtx_kern_sum, 64 threads", "nsys_by_range, 64 threads"
    ratio("kernels by NVTX range, 64 threads", (many[0], SMALL), (many[1], SMALL), "process_s", 8)
    equal(("cuda_gpu_kern_sum", M), ("nsys_table", M))
    equal(("nvtx_kern_sum", M), ("nsys_by_range", M))
    equal((many[0], SMALL), (many[1], SMALL))
    if ("nsys_table", M) in found:
        made.append(Bar("kernel table from nsys: MB", found["nsys_table", M].peak_mb, "<=", 75))
    made += bars_of_whole_runs(found)
    for what in ("kineto_table", "kineto_attributed", "nsys_table", "nsys_by_range"):
        if (what, SMALL) in found and (what, LARGE) in found:
            busy = [found[what, size].answer["cpu_s"] for size in (SMALL, LARGE)]
            value = log(busy[1] / busy[0]) / log(LARGE / SMALL)
            title = f"{what}: exponent of growth from 100 k to 5 M, by processor time"
            made.append(Bar(title, value, "<=", 1.05))
            made.append(Bar(f"{what}: MB at 5 M", found[what, LARGE].peak_mb, "<=", 1500))
    return made


def bars_of_whole_runs(found: Mapping[Key, Measurement]) -> list[Bar]:
    """The rule reconcile beside the kernel tables of the same files, by processor time of the same run."""
    keys = [(what, size) for what in ("run_tables", "run_reconciled") for size in (SMALL, M)]
    if not all(key in found for key in keys):
        return []
    _, tables, small, whole = (found[key] for key in keys)
    apart = sum(abs(tables.answer[key] - whole.answer[key]) for key in ("kernels", "total_ns"))
    busy = [one.answer["cpu_s"] for one in (tables, small, whole)]
    title = "whole reconciliation of 1 M kernels"
    return [
        Bar(f"{title} and the kernel tables of its files: kernels and ns that they differ by", apart, "<=", 0),
        Bar(f"{title}: processor time / that of the kernel tables of its files", busy[2] / busy[0], "<=", 5),
        Bar(f"{title}: exponent of growth from 100 k, by processor time", log(busy[2] / busy[1]) / log(M / SMALL), "<=", 1.15),
        Bar(f"{title}: MB", whole.peak_mb, "<=", 1200),
    ]  # fmt: skip
