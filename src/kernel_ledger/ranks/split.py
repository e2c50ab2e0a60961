"""What a capture of several ranks holds of one of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import numpy as np

from ..columnar import NONE
from ..columnar.records import Records
from ..columnar.segments import spans, split
from ..columnar.table import dense
from ..evidence import Book
from ..files import read_json
from ..nsys import book as nsys_book
from ..nsys.book import RangeRow
from .naming import pid_of, rank_of_pid

Part = TypeVar("Part", bound=Records)
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
    return replace(book, ops=of_process(book.ops, mine), ranges=of_process(book.ranges, mine))


def of_process(records: Part, mine: Callable[[int | None], bool]) -> Part:
    """The records of the processes that are ``mine``."""
    processes, number = dense(records.column("process"))
    known = [mine(None if process == NONE else process) for process in processes.tolist()]
    return records if all(known) else records.take(np.array(known, dtype=bool)[number])


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
    processes = np.append(book.ops.column("process"), book.ranges.column("process"))
    seen = {pid_of(process) for process in dense(processes)[0].tolist() if process != NONE}
    return sorted(seen - set(known))


def summed_ranges(book: Book) -> dict[str, RangeRow]:
    """Range -> instances, median host time and median GPU span in ns, from the records themselves."""
    found = {}
    for mine in split([book.ranges.column("name")]):
        own = book.ranges.take(mine)
        name, ops = own[0].name, book.ops.where("range", own[0].name)
        projected = spans(ops.start, ops.end, ops.column("iteration")).tolist()
        found[name] = RangeRow(
            len(own), median(own.duration.tolist()), median(projected) if projected else None
        )
    return found
