"""How many events a recording holds, counted without keeping any: a timeline keeps them all, at about 1 kB each."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from ..errors import EvidenceError
from ..kineto.stream import PACKING_ERRORS, opened
from ..nsys.database import connect

MARK = b'"ph"'  # each event of Chrome's trace format has one; within a text the quotes would be escaped
BLOCK = 1 << 22


def trace_events(path: Path) -> int:
    """Events of a Kineto trace; of a damaged one those before the damage, which reading it will tell."""
    count, rest = 0, b""
    try:
        with opened(path) as stream:
            while block := stream.read(BLOCK):
                text = rest + block
                count += text.count(MARK)
                rest = text[1 - len(MARK) :]
    except (OSError, EvidenceError, *PACKING_ERRORS):
        pass
    return count


def recorded_events(path: Path) -> int:
    """GPU work, API calls and ranges of an nsys export; 0 of one that cannot be read, which reading it will tell."""
    try:
        with closing(connect(path)) as connection:
            tables = connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
                " AND (name LIKE 'CUPTI_ACTIVITY_KIND_%' OR name = 'NVTX_EVENTS')"
            ).fetchall()
            return sum(
                connection.execute(f'SELECT COUNT(*) FROM "{name}"').fetchone()[0] for (name,) in tables
            )
    except (sqlite3.Error, EvidenceError):
        return 0
