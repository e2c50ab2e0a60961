"""Rows of the level range: instances counted by both tools, host time, GPU span and GPU busy time from nsys."""

from __future__ import annotations

import numpy as np

from ..capture import CaseEvidence
from ..columnar.segments import covered, spans
from ..evidence import Operations, statistics
from .balance import compare_counts
from .rows import CPU_REASON, Row, blank, say, unreadable_books


def busy_ns(ops: Operations) -> float | None:
    """Median over the calls of a range of the union of its GPU operations, or None without any."""
    stats = statistics(covered(ops.start, ops.end, ops.column("iteration")))
    return stats.median if stats else None


def span_ns(ops: Operations) -> float | None:
    """Median over the calls of a range of the time from its first GPU operation to its last, or None without any."""
    stats = statistics(spans(ops.start, ops.end, ops.column("iteration")))
    return stats.median if stats else None


def range_row(case: CaseEvidence, variant: str, iterations: int) -> Row:
    """The announced range of a variant.  Counts must agree; spans hold gaps, which depend on the tool."""
    name = case.plan.range_name(variant)
    row = blank(case, variant, "range", name, iterations)
    row["expected_count"] = iterations
    if variant in case.torch:
        row["torch_count"] = case.torch[variant].ranges.count(name)
        row["torch_source"] = case.source(f"torch/{variant}/trace.json.gz")
    if case.nsys is not None:
        row["nsys_count"] = case.nsys.ranges.count(name)
        row["nsys_source"] = case.source(
            "nsys/report.sqlite" if case.pooled or case.plan.world_size else "nsys/nvtx_sum.csv"
        )
    stats = case.ranges.get(name)
    if stats is not None:
        row["host_ns"], row["gpu_span_ns"] = stats.host_median_ns, stats.span_median_ns
    ops = case.nsys.ops.where("range", name) if case.nsys else Operations.of(())
    row["gpu_busy_ns"] = busy_ns(ops)
    if not np.all(ops.has("thread_range", name)):
        row["gpu_span_ns"] = span_ns(ops)
        say(
            row,
            [
                "another thread launched a part of it, which nsys does not project: gpu_span_ns is from report.sqlite"
            ],
        )
    judge(row, case, variant)
    return row


def judge(row: Row, case: CaseEvidence, variant: str) -> None:
    """Status and reasons of a range row."""
    if missing := unreadable_books(case, variant):
        row["status"] = "unknown"
        say(row, missing.values())
        return
    wrong = compare_counts(row["torch_count"], row["nsys_count"], row["expected_count"], 0)
    row["status"] = "disagree" if wrong else "verified"
    say(row, wrong)
    if row["host_ns"] is None:
        say(row, ["nvtx_sum.csv has no row for this range"])
    if row["gpu_span_ns"] is None or row["gpu_busy_ns"] is None:
        say(row, [CPU_REASON if case.device == "cpu" else "nsys projected no GPU operation onto this range"])
