"""ranks.csv: one row for each rank, variant and book of the cases that ran as a group of processes.

Ranks are compared within a book.  nsys has one clock for all processes of a host; torch's traces have one each, tied to
the host's by their baseTimeNanoseconds.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import Any

from ..capture import CaseEvidence
from ..columns import Column
from ..evidence import Book
from ..reconcile.rows import CPU_REASON, device_of, unreadable_books
from ..reconcile.table import cell
from .measures import Arrivals, Call, arrivals, calls_of

Row = dict[str, Any]
FEWEST, MOSTLY_PCT, NOTABLE_PCT = 4, 75, 1.0
COLUMNS = (
    Column("run", "string", "name of the run folder"),
    Column("workload", "string", "name of the workload"),
    Column("case", "string", "the workload's parameters, as a file name"),
    Column("variant", "string", "the spelling of the function"),
    Column("rank", "integer", "process of the group, from 0"),
    Column("book", "string", "torch or nsys"),
    Column("device", "string", "where the rank ran, as torch names it"),
    Column("gpu", "string", "UUID of its GPU"),
    Column("calls", "integer", "calls in the book"),
    Column("step_ns", "number", "median time from a call's first GPU operation to its last (cpu: of its range)", unit="ns"),
    Column("compute_ns", "number", "median union of a call's other kernels and copies", unit="ns"),
    Column("communication_ns", "number", "median union of a call's NCCL kernels, waiting included", unit="ns"),
    Column("overlap_ns", "number", "median time of a call in which both ran", unit="ns"),
    Column("overlap_pct", "number", "of all communication, how much ran beside computing", unit="%"),
    Column("start_late_ns", "number", "median time by which its call began after that of the first rank", unit="ns"),
    Column("end_late_ns", "number", "median time by which its call ended after that of the first rank", unit="ns"),
    Column("collectives", "integer", "communication kernels that every rank has, matched by order"),
    Column("arrival_late_ns", "number", "median time by which it came to a collective after the first rank", unit="ns"),
    Column("last_pct", "number", "at how many of the collectives (none: calls) it was the last to come", unit="%"),
    Column("early_end_ns", "integer", "most by which a collective ended here before another rank began with it", unit="ns"),
    Column("straggler", "boolean", f"last at {MOSTLY_PCT} % of them or more, by over {NOTABLE_PCT:g} % of a step"),
    Column("reason", "string", "why cells are empty"),
)  # fmt: skip
NAMES = tuple(c.name for c in COLUMNS)


def rank_rows(case: CaseEvidence) -> list[Row]:
    """The rows of one case, none where it is one process without a group."""
    return [
        row
        for variant in case.plan.variants
        for book in ("torch", "nsys")
        for row in rows_of_book(case, variant, book)
    ]


def rows_of_book(case: CaseEvidence, variant: str, book: str) -> Iterator[Row]:
    """One row for each rank."""
    name = case.plan.range_name(variant)
    books = [[book_of(part, variant, book) for part in member.repeats] for member in case.members]
    each = [[calls_of(b, name) for b in own if b] for own in books]
    timed = book == "nsys" or all(b is not None and b.epoch is not None for own in books for b in own)
    known = all(b is not None for own in books for b in own)
    begun, ended, met = compared(each) if timed and known and aligned(each) else (None, None, None)
    for member, own in zip(case.members, each, strict=True):
        row = blank(member, variant, book)
        calls = [call for repeat in own for call in repeat]
        row["calls"] = len(calls)
        reasons = [unreadable_books(member, variant).get(book)]
        if calls:
            enter_calls(row, calls, case.device)
        if begun is None:
            reasons.append(
                "the ranks' calls cannot be compared: a book is missing, has no clock, or other counts"
            )
        elif len(case.members) > 1:
            enter_arrivals(row, begun[member.rank], ended[member.rank], met and met[member.rank])
        if case.device == "cpu":
            reasons.append(CPU_REASON)
        elif len(case.members) == 1:
            reasons.append("one rank alone: nothing to exchange, nobody to wait for")
        elif met is None and begun is not None:
            reasons.append("the ranks have different numbers of communication kernels")
        row["reason"] = "; ".join(filter(None, reasons)) or None
        yield row


def book_of(part: CaseEvidence, variant: str, book: str) -> Book | None:
    return part.torch.get(variant) if book == "torch" else part.nsys


def blank(member: CaseEvidence, variant: str, book: str) -> Row:
    row: Row = dict.fromkeys(NAMES)
    record = member.records.get(f"torch/{variant}" if book == "torch" else "nsys", {})
    row.update(workload=member.plan.workload, case=member.plan.case, variant=variant, book=book)
    row.update(rank=member.rank, device=device_of(member), gpu=(record.get("gpu") or {}).get("uuid"))
    return row


def aligned(each: Sequence[Sequence[Sequence[Call]]]) -> bool:
    """Whether all ranks have the same number of calls in every repeat."""
    return len({tuple(map(len, own)) for own in each}) == 1 and bool(each[0]) and bool(each[0][0])


Compared = tuple[list[Arrivals], list[Arrivals], list[Arrivals] | None]


def compared(each: Sequence[Sequence[Sequence[Call]]]) -> Compared:
    """When each rank began its calls, ended them, and came to each collective; the last None where these differ."""
    calls = [[call for repeat in own for call in repeat] for own in each]
    begun = arrivals([[(call.start, call.end) for call in own] for own in calls])
    ended = arrivals([[(call.end, call.end) for call in own] for own in calls])
    counts = {tuple(len(call.collectives) for call in own) for own in calls}
    if len(counts) != 1:
        return begun, ended, None
    return begun, ended, arrivals([[c for call in own for c in call.collectives] for own in calls])


def enter_calls(row: Row, calls: Sequence[Call], device: str) -> None:
    row["step_ns"] = median(call.end - call.start for call in calls)
    if device == "cpu":
        return
    for name in ("compute_ns", "communication_ns", "overlap_ns"):
        row[name] = median(getattr(call, name) for call in calls)
    if together := sum(call.communication_ns for call in calls):
        row["overlap_pct"] = round(100 * sum(call.overlap_ns for call in calls) / together, 2)


def enter_arrivals(row: Row, begun: Arrivals, ended: Arrivals, met: Arrivals | None) -> None:
    row["start_late_ns"], row["end_late_ns"] = median(begun.late_ns), median(ended.late_ns)
    if met is not None:
        row["collectives"] = len(met.late_ns)
    if met is not None and met.late_ns:
        row["arrival_late_ns"], row["early_end_ns"] = median(met.late_ns), met.early_end_ns
    points = met if met is not None and met.late_ns else begun
    row["last_pct"] = round(100 * points.last / len(points.late_ns), 1)
    often = len(points.late_ns) >= FEWEST and row["last_pct"] >= MOSTLY_PCT
    row["straggler"] = often and median(points.late_ns) > NOTABLE_PCT / 100 * row["step_ns"]


def ranks_text(rows: Iterable[Row]) -> str:
    """ranks.csv as text."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(NAMES)
    writer.writerows([cell(row[name]) for name in NAMES] for row in rows)
    return stream.getvalue()
