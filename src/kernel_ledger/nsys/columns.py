"""The large tables of an nsys SQLite export as columns: kernels, copies, API calls and NVTX ranges.

The database is opened read-only and never changed; only the columns that are needed are read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np

from ..columnar import NONE, Column, Names, column
from ..columnar.nesting import NOWHERE, by_group
from ..columnar.table import combined, dense
from ..errors import EvidenceError
from .database import connect

KERNELS, CALLS, RANGES = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"
COPIES = ("CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET")
PROCESS_OF_THREAD = ~0xFFFFFF
DOMAIN_CREATED = 75
TOGETHER = 1 << 14
"""Rows that are fetched at once."""
STYLES = {59: "PushPop", 70: "PushPop", 60: "StartEnd", 71: "StartEnd"}


@contextmanager
def export(path: Path) -> Iterator[Export]:
    """An open export.  Raises EvidenceError where it cannot be read."""
    try:
        with closing(connect(path)) as connection:
            yield Export(connection)
    except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
        raise EvidenceError(
            "this is not a readable SQLite export",
            where=path,
            found=error,
            next_step="export the report again with the nsys version that recorded it",
        ) from error


class Export:
    """A connection, and which columns its tables have."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        names = [n for (n,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        self.tables = {
            name: {row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')} for name in names
        }

    def columns(self, table: str, expressions: Sequence[str], where: str = "") -> list[Column]:
        """Integer expressions over a table, a column each; NULL is NONE."""
        width = len(expressions)
        if table not in self.tables:
            return [column() for _ in expressions]
        (count,) = self.connection.execute(f"SELECT count(*) FROM {table} {where}").fetchone()
        wanted = ", ".join(f"ifnull({e}, {NONE})" if e.isidentifier() else e for e in expressions)
        rows = self.connection.execute(f"SELECT {wanted} FROM {table} {where}")
        found = [np.empty(count, dtype=np.int64) for _ in expressions]
        for at in range(0, count, TOGETHER):
            size = min(TOGETHER, count - at)
            block = np.fromiter(chain.from_iterable(islice(rows, size)), dtype=np.int64, count=size * width)
            for values, part in zip(found, block.reshape(size, width).T, strict=True):
                values[at : at + size] = part
        return found

    def strings(self, ids: Iterable[int]) -> dict[int, str]:
        """The texts of these ids, "" for one that StringIds lacks."""
        found = {}
        for number in ids:
            row = self.connection.execute(
                "SELECT value FROM StringIds WHERE id = ?", (int(number),)
            ).fetchone()
            found[int(number)] = row[0] if row else ""
        return found

    def kernel_name(self, mangled: bool) -> str:
        """The SQL expression of a kernel's name as an id: mangled where it is wanted and recorded."""
        if mangled and "mangledName" in self.tables.get(KERNELS, ()):
            return "coalesce(mangledName, demangledName)"
        return "demangledName"


@dataclass(frozen=True)
class Calls:
    """API calls; ``process`` is part of ``thread``, nsys's globalTid."""

    start: Column
    end: Column
    thread: Column
    correlation: Column

    @property
    def process(self) -> Column:
        return np.where(self.thread == NONE, NONE, self.thread & PROCESS_OF_THREAD)

    def launching(self, process: Column, correlation: Column) -> Column:
        """For each operation the index of its launching call, or NOWHERE."""
        found = np.full(len(correlation), NOWHERE, dtype=np.int64)
        for _, (operations, calls) in by_group(process, self.process):
            known = self.correlation[calls]
            rank = np.argsort(known, kind="stable")
            wanted = correlation[operations]
            at = np.searchsorted(known[rank], wanted)
            hit = np.flatnonzero(at < len(known))
            hit = hit[known[rank[at[hit]]] == wanted[hit]]
            found[operations[hit]] = calls[rank[at[hit]]]
        return found

    def doubled(self) -> bool:
        """Whether several calls of one process share a correlation id."""
        rank = np.lexsort((self.correlation, self.process))
        same = np.diff(self.correlation[rank]) == 0
        return bool(np.any(same & (np.diff(self.process[rank]) == 0)))


def calls(export: Export) -> Calls:
    return Calls(*export.columns(CALLS, ("start", "end", "globalTid", "correlationId")))


@dataclass(frozen=True)
class Ranges:
    """Closed and open ranges that end on their own thread.  ``name``: index into ``names``, which have the domain
    before a colon; ``style``: an event type; ``end`` of an open one: the last moment of any range."""

    start: Column
    end: Column
    thread: Column
    style: Column
    name: Column
    names: list[str]


def ranges(export: Export) -> Ranges:
    has = export.tables.get(RANGES, set())
    optional = [c if c in has else str(NONE) for c in ("endGlobalTid", "textId", "domainId")]
    wanted = ("rowid", "start", "end", "globalTid", "eventType", *optional)
    kinds = ", ".join(map(str, STYLES))
    rowid, start, end, thread, style, elsewhere, text_id, domain = export.columns(
        RANGES, wanted, f"WHERE eventType IN ({kinds})"
    )
    if not len(start):
        return Ranges(start, end, thread, style, text_id, [])
    last = max(int(start.max()), int(end.max()))
    end = np.where(end == NONE, last, end)
    names = Names()
    own, texts = own_texts(export, rowid)
    registered = export.strings(dense(text_id)[0])
    prefix = domains(export)
    process = np.where(thread == NONE, NONE, thread & PROCESS_OF_THREAD)
    which, unique = combined([text_id, domain, process, own])
    index = []
    for text, in_domain, of, at in zip(*(values.tolist() for values in unique), strict=True):
        name = registered.get(text) or texts[at]
        before = prefix.get((of, in_domain))
        index.append(names[name if before is None else f"{before}:{name}"])
    name = column(index)[which]
    kept = elsewhere == NONE
    return Ranges(start[kept], end[kept], thread[kept], style[kept], name[kept], names.all())


def own_texts(export: Export, rowid: Column) -> tuple[Column, list[str]]:
    """(of each event the index of its own text, the texts); index 0 is that of none."""
    texts = Names()
    texts[""]
    found = np.zeros(len(rowid), dtype=np.int64)
    rows = export.connection.execute(
        f"SELECT rowid, text FROM {RANGES} WHERE text IS NOT NULL ORDER BY rowid"
    )
    at, index = [], []
    for number, text in rows:
        at.append(number)
        index.append(texts[text])
    place = np.searchsorted(rowid, column(at))
    inside = np.flatnonzero(place < len(rowid))
    inside = inside[rowid[place[inside]] == column(at)[inside]]
    found[place[inside]] = column(index)[inside]
    return found, texts.all()


def domains(export: Export) -> dict[tuple[int, int], str]:
    """(process, domain id) -> the domain's name."""
    rows = export.connection.execute(
        f"SELECT globalTid, domainId, text FROM {RANGES} WHERE eventType = {DOMAIN_CREATED} ORDER BY start DESC"
    )
    return {(thread & PROCESS_OF_THREAD, domain): text for thread, domain, text in rows if text is not None}
