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
AGAIN = "export the report again with the nsys version that recorded it"
SPARSE = 1 << 27  # a bound of 1 GB a column, of which the pages that no row fills are never touched
TOGETHER = 1 << 14
"""Rows that are fetched at once."""
STYLES = {59: "PushPop", 70: "PushPop", 60: "StartEnd", 71: "StartEnd"}


@contextmanager
def export(path: Path) -> Iterator[Export]:
    """An open export.  Raises EvidenceError where it cannot be read."""
    try:
        with closing(connect(path)) as connection:
            yield Export(connection)
    except (sqlite3.Error, ValueError, OverflowError) as error:  # ValueError: text where a number belongs
        raise EvidenceError(
            "this is not a readable SQLite export",
            where=path,
            found=error,
            next_step=AGAIN,
        ) from error


class Export:
    """A connection, and which columns its tables have."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        names = [n for (n,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        self.tables = {name: present(connection, name) for name in names}

    def columns(self, table: str, expressions: Sequence[str], where: str = "") -> list[Column]:
        """Integer expressions over a table, a column each; NULL is NONE."""
        width = len(expressions)
        if table not in self.tables:
            return [column() for _ in expressions]
        wanted = ", ".join(self.tables[table].get(e, f"ifnull({e}, {NONE})" if e.isidentifier() else e)
                           for e in expressions)  # fmt: skip
        rows = self.connection.execute(f"SELECT {wanted} FROM {table} {where}")
        found = [np.empty(self.bound(table, where), dtype=np.int64) for _ in expressions]
        at = 0
        while len(block := np.fromiter(chain.from_iterable(islice(rows, TOGETHER)), dtype=np.int64)):
            part = block.reshape(-1, width).T
            for values, those in zip(found, part, strict=True):
                values[at : at + part.shape[1]] = those
            at += part.shape[1]
        return [values[:at] for values in found]

    def count(self, table: str) -> int:
        """How many rows a table has; none where there is no such table."""
        if table not in self.tables:
            return 0
        return self.connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]

    def bound(self, table: str, where: str) -> int:
        """How many rows there are at most: the last rowid, at once; their number, where rowids are sparse."""
        (last,) = self.connection.execute(f"SELECT max(rowid) FROM {table}").fetchone()
        if (last or 0) <= SPARSE:
            return last or 0
        return self.connection.execute(f"SELECT count(*) FROM {table} {where}").fetchone()[0]

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


def present(connection: sqlite3.Connection, table: str) -> dict[str, str]:
    """The columns of a table, each with the SQL that reads it as an integer, NULL as NONE."""
    return {
        name: name if required or key else f"ifnull({name}, {NONE})"
        for _, name, _, required, _, key in connection.execute(f'PRAGMA table_info("{table}")')
    }


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
    has = export.tables.get(RANGES, {})
    optional = [c if c in has else str(NONE) for c in ("textId", "domainId")]
    where = f"WHERE eventType IN ({', '.join(map(str, STYLES))})"
    here = f"{where} AND endGlobalTid IS NULL" if "endGlobalTid" in has else where
    start, end, thread, style, text_id, domain = export.columns(
        RANGES, ("start", "end", "globalTid", "eventType", *optional), f"{here} ORDER BY rowid"
    )
    if not len(start):
        return Ranges(start, end, thread, style, text_id, [])
    (last,) = export.connection.execute(f"SELECT max(max(start), max(end)) FROM {RANGES} {where}").fetchone()
    end[end == NONE] = int(start.max()) if last is None else last
    registered = export.strings(dense(text_id)[0])
    own, texts = own_texts(export, here, text_id)
    process = np.where(thread == NONE, NONE, thread & PROCESS_OF_THREAD)
    which, unique = combined([text_id, domain, process, own])
    names, index, prefix = Names(), [], domains(export)
    for text, in_domain, of, at in zip(*(values.tolist() for values in unique), strict=True):
        name = texts[at] if at else registered[text]
        before = prefix.get((of, in_domain))
        index.append(names[name if before is None else f"{before}:{name}"])
    return Ranges(start, end, thread, style, column(index)[which], names.all())


def own_texts(export: Export, where: str, text_id: Column) -> tuple[Column, list[str]]:
    """(of each event the index of its own text, the texts): of those that refer to no string; 0 for the others."""
    texts = Names()
    texts[NONE]
    found = np.zeros(len(text_id), dtype=np.int64)
    ids, number = dense(text_id)
    known = {i for (i,) in export.connection.execute("SELECT id FROM StringIds")}
    bare = ~np.array([value in known for value in ids.tolist()])
    if bare.any():
        refers = "textId IN (SELECT id FROM StringIds)" if "textId" in export.tables[RANGES] else "0"
        rows = export.connection.execute(
            f"SELECT text FROM {RANGES} {where} AND NOT ifnull({refers}, 0) ORDER BY rowid"
        )
        found[bare[number]] = [texts[text or ""] for (text,) in rows]
    return found, texts.all()


def domains(export: Export) -> dict[tuple[int, int], str]:
    """(process, domain id) -> the domain's name."""
    rows = export.connection.execute(
        f"SELECT globalTid, domainId, text FROM {RANGES} WHERE eventType = {DOMAIN_CREATED} ORDER BY start DESC"
    )
    return {(thread & PROCESS_OF_THREAD, domain): text for thread, domain, text in rows if text is not None}
