"""Which file, and which process of an nsys report, belongs to which rank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PID_BITS = 24


def ranked(name: str, rank: int | None) -> str:
    """A file's name for one rank: the name itself for rank 0, ``trace.rank-1.json.gz`` for rank 1."""
    if not rank:
        return name
    folder, slash, file = name.rpartition("/")
    stem, dot, suffix = file.partition(".")
    return f"{folder}{slash}{stem}.rank-{rank}{dot}{suffix}"


def pid_of(process: int) -> int:
    """The process id in nsys's globalPid or globalTid, which also hold the machine and the thread."""
    return (process >> PID_BITS) & ((1 << PID_BITS) - 1)


def rank_of_pid(record: Mapping[str, Any]) -> dict[int, int]:
    """Process id -> rank, as the ranks of a pass told their own; empty for a pass of one process.

    nsys may run in a namespace of its own: it and the ranks see the same ids, the launcher others.
    """
    return {told["pid"]: told["rank"] for told in record.get("ranks") or ()}
