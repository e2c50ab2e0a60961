"""Rows of the levels block and chain: the GPU time of one call of a variant, and of its memory-bound part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ..capture import CaseEvidence
from ..columnar import joined
from ..columnar.segments import sums
from ..evidence import Operations, Statistics, statistics
from ..plan_file import Limits
from .groups import Group
from .rows import CPU_REASON, Row, blank, say, settle
from .shared import limits_for


def per_call(parts: Sequence[Operations]) -> Statistics | None:
    """Statistics of the summed GPU time of each call; ``count`` is the number of kernel launches."""
    durations, calls = joined([p.duration for p in parts]), joined([p.column("iteration") for p in parts])
    stats = statistics(sums(durations, calls))
    kernels = sum(int(np.count_nonzero(p.has("level", "kernel"))) for p in parts)
    return None if stats is None else replace(stats, count=kernels)


def chain_groups(case: CaseEvidence, groups: list[Group]) -> tuple[list[Group], list[str]]:
    """The groups of the memory-bound chain, and those that cannot be told apart from the rest."""
    apart = set(case.plan.not_chain)
    chain = [g for g in groups if not (g.operators and set(g.operators) <= apart)]
    mixed = [g.title for g in chain if not g.operators or set(g.operators) & apart]
    return chain, mixed


def block_row(case: CaseEvidence, variant: str, groups: list[Group], iterations: int, limits: Limits) -> Row:
    """A variant's whole call: events in the unprofiled process, GPU time in both books."""
    row = blank(case, variant, "block", variant, iterations)
    launches = case.plan.launches.get(variant)
    row["expected_count"] = launches * iterations if launches is not None and case.device == "cuda" else None
    enter_events(row, case, variant)
    enter(row, case, variant, groups, limits)
    return row


def chain_row(case: CaseEvidence, variant: str, groups: list[Group], iterations: int, limits: Limits) -> Row:
    """The memory-bound chain of a variant: its block without the kernels of the plan's ``not_chain`` operators."""
    row = blank(case, variant, "chain", variant, iterations)
    chain, mixed = chain_groups(case, groups)
    unknown = [f"no telling whether these belong to the chain: {', '.join(mixed)}"] if mixed else []
    enter(row, case, variant, chain, limits, unknown)
    return row


def enter(
    row: Row,
    case: CaseEvidence,
    variant: str,
    groups: list[Group],
    limits: Limits,
    unknown: Iterable[str] = (),
) -> None:
    """Enter both books' time of a call."""
    if case.device == "cpu":
        row["status"] = "not_applicable"
        say(row, [CPU_REASON])
        return
    torch, nsys = per_call([g.torch for g in groups]), per_call([g.nsys for g in groups])
    kernels = any(g.level == "kernel" for g in groups)
    limits, remarks = limits_for(groups, limits)
    settle(row, case, torch, nsys, limits, unknown)
    say(row, remarks)
    if not kernels and row["status"] == "verified":
        say(row, ["no kernel is launched; the time is that of its copies"])
    row["torch_source"] = case.source(f"torch/{variant}/trace.json.gz") or None
    row["nsys_source"] = case.source("nsys/report.sqlite") or None


def enter_events(row: Row, case: CaseEvidence, variant: str) -> None:
    """Enter the timing pass: the headline time of a block."""
    timed = (case.timing or {}).get("variants", {}).get(variant)
    if timed is None or not timed["samples_ns"]:
        say(row, ["the timing pass has no sample of this variant"])
        return
    samples = timed["samples_ns"]
    middle = statistics(samples).median
    row["event_median_ns"] = middle
    row["event_mad_ns"] = statistics([abs(s - middle) for s in samples]).median
    row["event_samples"] = len(samples)
