"""What a capture of several ranks holds of one of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from ..evidence import Book, GpuOp
from ..files import read_json
from ..nsys import book as nsys_book
from ..nsys.book import RangeRow
from .naming import pid_of, rank_of_pid

OWN = ("gpu", "probe", "tf32", "output_sha256", "output_norms", "nvml")


def record_of_rank(record: Mapping[str, Any], rank: int) -> dict[str, Any]:
    """run.json as if it were of one rank: what each rank told of itself stands in place of the first one's."""
    own = next((told for told in record.get("ranks") or () if told["rank"] == rank), {})
    return {**record, **{key: own[key] for key in OWN if key in own}}


def nsys_of_rank(book: Book, record: Mapping[str, Any], rank: int) -> Book:
    """The part of nsys's book that one rank's process made; ``record``: run.json of the nsys pass.

    What is wrong with the book as a whole stays with every rank.
    """
    mine = belongs_to(record, rank)
    return replace(
        book,
        ops=tuple(op for op in book.ops if mine(op.process)),
        ranges=tuple(r for r in book.ranges if mine(r.process)),
    )


def belongs_to(record: Mapping[str, Any], rank: int) -> Callable[[int | None], bool]:
    """Whether a process of nsys's report is this rank's; without a group, every process is."""
    known = rank_of_pid(record)
    return lambda process: not known or (process is not None and known.get(pid_of(process)) == rank)


def recorded_beside(path: Path) -> dict[str, Any]:
    """run.json of the nsys pass, from the path of its report.sqlite; empty where there is none."""
    beside = path.with_name("run.json")
    return read_json(beside) if beside.is_file() else {}


def first_rank(path: Path, announced: Collection[str]) -> Book:
    """nsys's book of the one process there is, or of rank 0: for pictures of a call.  Raises EvidenceError."""
    return nsys_of_rank(nsys_book.read(path, announced), recorded_beside(path), 0)


def strangers(book: Book, record: Mapping[str, Any]) -> list[int]:
    """Process ids in nsys's book that no rank told as its own."""
    known = rank_of_pid(record)
    seen = {pid_of(part.process) for part in (*book.ops, *book.ranges) if part.process is not None}
    return sorted(seen - set(known))


def summed_ranges(book: Book) -> dict[str, RangeRow]:
    """Range -> instances, median host time and median GPU span in ns, from the records themselves."""
    hosts: dict[str, list[int]] = {}
    for instance in book.ranges:
        hosts.setdefault(instance.name, []).append(instance.end - instance.start)
    calls: dict[str, dict[int, list[GpuOp]]] = {}
    for op in book.ops:
        if op.range is not None:
            calls.setdefault(op.range, {}).setdefault(op.iteration, []).append(op)
    spans = {
        name: [max(op.end for op in ops) - min(op.start for op in ops) for ops in by_call.values()]
        for name, by_call in calls.items()
    }
    return {
        name: RangeRow(len(times), median(times), median(spans[name]) if name in spans else None)
        for name, times in hosts.items()
    }
