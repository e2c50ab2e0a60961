"""Rows of the levels kernel and memory: one for each group, and one for each kernel that was announced but never seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from ..capture import CaseEvidence
from ..evidence import Operations, Statistics, statistics
from ..names import base_name
from ..plan_file import Limits
from .groups import OUTSIDE, Group, dimensions
from .rows import CPU_REASON, Row, blank, say, settle
from .shared import limits_for


def expected_count(case: CaseEvidence, group: Group, alone: bool, iterations: int) -> int | None:
    """Launches that the program announced for this kernel, or None where it announced none by name.

    ``alone``: no other kernel of the variant has this short name, by which a program announces.
    """
    announced = announced_kernels(case, group.variant)
    if group.level != "kernel" or not alone:
        return None
    launches = announced.get(base_name(group.name))
    return None if launches is None else launches * iterations


def announced_kernels(case: CaseEvidence, variant: str) -> dict[str, int]:
    """Kernel -> launches a call, from the variant's declaration and from the passes' expectations (ruler)."""
    found = dict(case.plan.kernels.get(variant, {}))
    for record in case.records.values():
        for expectation in record.get("expectations", {}).get(variant, ()):
            found[expectation["kernel"]] = expectation["launches"]
    return found


def nsys_statistics(case: CaseEvidence, group: Group) -> tuple[Statistics | None, str]:
    """The nsys side of a group and its file: the stats CSV where it has the group whole, else the SQLite."""
    if not group.nsys:
        return None, ""
    if group.level == "kernel" and group.whole:
        ranges, symbols = group.nsys.seen("thread_range"), group.nsys.seen("symbol")
        row = case.kernel_stats.get((*ranges, *symbols)) if len(ranges) == len(symbols) == 1 else None
        if row is not None and row.count == len(group.nsys):  # of another thread: one row for all variants
            durations = group.nsys.duration
            return replace(row, durations=durations), case.source("nsys/cuda_gpu_kern_sum_by_range.csv")
    return statistics(group.nsys.duration), case.source("nsys/report.sqlite")


def shapes(parts: Iterable[Operations]) -> str | None:
    """Distinct input shapes of the launching operators, as JSON; several are joined by " | "."""
    return " | ".join(sorted(set().union(*(ops.seen("input_shapes") for ops in parts)) - {""})) or None


def lacking_calls(book: str, ops: Operations, other: Operations) -> str | None:
    """In which calls ``book`` has fewer launches than the other book has in its fullest call, as a sentence."""
    counts, others = (Counter(of.decoded("iteration")) for of in (ops, other))
    full = max(others.values(), default=0)
    short = sorted(i for i in others if i is not None and counts[i] < full)
    if not short or len(ops) >= len(other) or len(short) == len(others):
        return None
    if short == list(range(len(short))):
        return f"{book} lacks launches of the first {len(short)} calls: its session began late; raise warmup"
    if short[-1] == max(others) and len(short) == short[-1] - short[0] + 1:
        return f"{book} lacks launches from call {short[0]} on: its session ended early"
    return f"{book} lacks launches of the calls {', '.join(map(str, short[:5]))}: records were dropped"


def alone_by_name(groups: list[Group]) -> set[int]:
    """Ids of the groups whose short name no other kernel of their variant has."""
    named: dict[tuple[str, str], list[Group]] = {}
    for group in groups:
        if group.level == "kernel":
            named.setdefault((group.variant, base_name(group.name)), []).append(group)
    return {id(members[0]) for members in named.values() if len(members) == 1}


def operation_row(case: CaseEvidence, group: Group, alone: bool, iterations: int, limits: Limits) -> Row:
    """The row of one group; ``alone`` as for expected_count."""
    row = blank(case, group.variant, group.level, group.title, iterations)
    row["symbol"] = (group.nsys or group.torch)[0].symbol
    row["operator"], row["input_shapes"] = " | ".join(group.operators) or None, shapes([group.torch])
    row["grid"], row["block"] = dimensions(group.geometry[0]) or None, dimensions(group.geometry[1]) or None
    row["expected_count"] = expected_count(case, group, alone, iterations)
    nsys, row["nsys_source"] = nsys_statistics(case, group)
    if group.variant in case.torch:
        row["torch_source"] = case.source(f"torch/{group.variant}/trace.json.gz")
    limits, remarks = limits_for([group], limits)
    settle(row, case, statistics(group.torch.duration), nsys, limits)
    say(row, remarks)
    if group.torch and group.nsys and row["status"] == "disagree":
        lacking = (
            lacking_calls("torch", group.torch, group.nsys),
            lacking_calls("nsys", group.nsys, group.torch),
        )
        say(row, [text for text in lacking if text])
    if group.variant == OUTSIDE:
        row["status"] = "disagree" if row["status"] == "verified" else row["status"]
        say(row, ["launched outside every announced range"])
    return row


def unseen_rows(case: CaseEvidence, groups: list[Group], iterations: int, limits: Limits) -> list[Row]:
    """A row for each announced kernel that is in neither book."""
    rows = []
    for variant in case.plan.variants:
        seen = {base_name(g.name) for g in groups if g.variant == variant and g.level == "kernel"}
        for name, launches in announced_kernels(case, variant).items():
            if name in seen:
                continue
            row = blank(case, variant, "kernel", name, iterations)
            row["expected_count"] = launches * iterations
            if case.device == "cpu":
                row["status"], row["expected_count"] = "not_applicable", None
                say(row, [CPU_REASON])
            else:
                settle(row, case, None, None, limits)
            rows.append(row)
    return rows
