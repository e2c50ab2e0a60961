"""structure: nothing clamped, negative, zero, reversed, overlapping on one stream, or starting before its launch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np

from ..capture import CaseEvidence
from ..columnar import NONE
from ..columnar.segments import split
from ..evidence import Book, GpuOp, Operations
from ..plan_file import Plan
from .outcome import Outcome, Parts, findings, shorten


def check(plan: Plan, case: CaseEvidence, rows: list[dict]) -> Outcome:
    parts, spoiled = Parts(wrong=findings(case, "structure")), set()
    books = [(f"torch/{v}/trace.json.gz", book) for v, book in case.torch.items()]
    if case.nsys is not None:
        books.append(("nsys/report.sqlite", case.nsys))
    for name, book in books:
        found = [f"{name}: {text}" for text in shorten(list(faults(book)))]
        parts.wrong += found
        spoiled |= {name.split("/")[1]} if found and name.startswith("torch/") else set()
        spoiled |= set(case.plan.variants) if found and name.startswith("nsys/") else set()
        parts.evidence.append(name)
    parts.wrong += odd_medians(case.timing)
    if not books:
        parts.gaps.append("neither book can be read")
    operations = sum(len(book.ops) for _, book in books)
    measured = f"{operations} GPU operations in {len(books)} books"
    return replace(parts.outcome(measured, "no impossible record"), spoils=frozenset(spoiled))


def odd_medians(timing: dict[str, Any] | None) -> Iterable[str]:
    """Medians of timing.json that are not those of the samples beside them."""
    for variant, entry in (timing or {}).get("variants", {}).items():
        samples = entry.get("samples_ns")
        if samples and entry.get("median_ns") != (middle := median(samples)):
            yield f"timing.json: {variant}'s median is {entry.get('median_ns')} ns, that of its samples {middle:g}"


def faults(book: Book) -> Iterable[str]:
    """Everything in a book that cannot have happened."""
    yield from (f.text for f in book.findings if f.check == "structure")
    for instance in book.ranges.take(book.ranges.duration < 0):
        yield f"range {instance.name} ends before it starts"
    for op in suspects(book.ops):
        yield from impossible(op)
    yield from overlaps(book.ops)


def suspects(ops: Operations) -> Operations:
    """Those of which ``impossible`` has something to say."""
    launched = ops.column("launch_start")
    return ops.take((ops.start <= 0) | (ops.duration <= 0) | ((launched != NONE) & (ops.start < launched)))


def impossible(op: GpuOp) -> Iterable[str]:
    """One operation on its own."""
    if op.start <= 0:
        yield f"{op.name} starts at {op.start}, which no clock says"
    if op.duration == 0:
        yield f"{op.name} took no time"
    elif op.duration < 0:
        yield f"{op.name} ends {-op.duration} ns before it starts"
    if op.launch_start is not None and op.start < op.launch_start:
        yield f"{op.name} starts {op.launch_start - op.start} ns before the call that launched it"


def overlaps(ops: Operations) -> Iterable[str]:
    """Operations of one stream that ran at the same time.

    Branches of one CUDA graph may: its replay is one call, whose operations share a correlation.
    """
    streams = [ops.take(mine) for mine in split([ops.column("device"), ops.column("stream")])]
    for members in sorted(streams, key=lambda own: str((own[0].device, own[0].stream))):
        for before, after in overlapping(members):
            one_replay = before.graph and after.graph and before.correlation == after.correlation
            if not one_replay:
                lasting = f"{before.end - after.start} ns on stream {after.stream}"
                yield f"{before.name} and {after.name} overlap by {lasting}"


def overlapping(members: Operations) -> Iterable[tuple[GpuOp, GpuOp]]:
    """Pairs of operations of one stream, by start, of which the second began before the first had ended.

    The first is the one, of all that began before, that ended last.
    """
    ordered = members.take(np.lexsort((members.end, members.start)))
    until = np.maximum.accumulate(ordered.end)
    later = np.append(True, until[1:] > until[:-1])  # those that end later than all before them
    longest = np.maximum.accumulate(np.where(later, np.arange(len(later)), 0))
    after = np.flatnonzero(ordered.start[1:] < until[:-1]) + 1
    yield from zip(ordered.take(longest[after - 1]), ordered.take(after), strict=True)
