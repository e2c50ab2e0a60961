"""structure: nothing clamped, negative, zero, reversed, overlapping on one stream, or starting before its launch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from statistics import median
from typing import Any

from ..capture import CaseEvidence
from ..evidence import Book, GpuOp
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
    for instance in book.ranges:
        if instance.end < instance.start:
            yield f"range {instance.name} ends before it starts"
    for op in book.ops:
        yield from impossible(op)
    yield from overlaps(book.ops)


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


def overlaps(ops: tuple[GpuOp, ...]) -> Iterable[str]:
    """Operations of one stream that ran at the same time.

    Branches of one CUDA graph may: its replay is one call, whose operations share a correlation.
    """
    streams: dict[tuple, list[GpuOp]] = {}
    for op in ops:
        streams.setdefault((op.device, op.stream), []).append(op)
    for (_, stream), members in sorted(streams.items(), key=lambda item: str(item[0])):
        ordered = sorted(members, key=lambda o: (o.start, o.end))
        before = ordered[0]
        for after in ordered[1:]:
            one_replay = before.graph and after.graph and before.correlation == after.correlation
            if after.start < before.end and not one_replay:
                yield f"{before.name} and {after.name} overlap by {before.end - after.start} ns on stream {stream}"
            before = max(before, after, key=lambda o: o.end)
