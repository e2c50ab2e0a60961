"""Reads the SQLite file of `nsys export`, read-only: the file is evidence and stays as it is.

Table and column names are NVIDIA's (the export schema, versions 3.x); all that not every version has is
optional here.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from ..cuda_calls import launches
from ..errors import EvidenceError
from .attribution import enclosing_ranges
from .rows import Call, Diagnostic, Gpu, KernelRow, MemoryRow, NsysBook, RangeRow

PROCESS_OF_THREAD = ~0xFFFFFF
DOMAIN_CREATED = 75
STYLES = {59: "pushpop", 70: "pushpop", 60: "startend", 71: "startend"}
Key = tuple[int | None, int | None]
OF_CALLS = ("start", "end", "globalTid", "correlationId", "nameId")
OF_COMMON = ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "graphNodeId")
OF_KERNELS = (*OF_COMMON, "mangledName", "demangledName", "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY",
              "blockZ")  # fmt: skip
OF_RANGES = ("start", "end", "eventType", "globalTid", "domainId", "text", "textId")


# Beside what SQLite says: a column or a string that is not there (another schema), and a value of another type.
UNREADABLE = (sqlite3.Error, UnicodeDecodeError, OverflowError, KeyError, IndexError, TypeError)


def told(error: Exception) -> str:
    """What an unreadable export lacks, for people."""
    if isinstance(error, KeyError | IndexError):
        return f"it has no {error.args[0]!r}, which every schema that is known here has"
    return f"{type(error).__name__}: {error}" if isinstance(error, TypeError) else str(error)


def read_sqlite(path: Path) -> NsysBook:
    """Everything the ledger uses of one export.  Raises EvidenceError where it cannot be read."""
    try:
        with closing(connect(path)) as connection:
            return Reader(connection, path).book()
    except UNREADABLE as error:
        raise EvidenceError(
            "this is not a readable SQLite export",
            where=path,
            found=told(error),
            next_step="export the report again with the nsys version that recorded it",
        ) from error


def connect(path: Path) -> sqlite3.Connection:
    """Open a database read-only, under any file name.

    Raises EvidenceError for a missing file, and for one into which somebody is still writing.
    """
    if not path.is_file():
        raise EvidenceError("this file is missing", where=path, next_step="run the export again")
    for pending in (path.with_name(path.name + "-wal"), path.with_name(path.name + "-journal")):
        if pending.is_file() and pending.stat().st_size:  # what it holds, an immutable reader would not see
            raise EvidenceError(
                "this database is being written, or its writer was killed",
                where=path,
                found=pending.name,
                next_step="close whatever has it open, or run the export again",
            )
    return sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1", uri=True)


def all_text(path: Path) -> Iterator[tuple[str, str, str]]:
    """(table, column, text) of every text value in a database: what a search for secrets looks through."""
    with closing(connect(path)) as connection:
        connection.text_factory = lambda text: text.decode(errors="surrogateescape")  # environments are bytes
        reader = Reader(connection, path)
        for table, columns in sorted(reader.columns.items()):
            holds_text = " OR ".join(f"typeof(\"{name}\") IN ('text', 'blob')" for name in columns)
            wanted = ", ".join(f'"{name}"' for name in columns)
            for values in connection.execute(f'SELECT {wanted} FROM "{table}" WHERE {holds_text}'):
                for column, value in zip(columns, values, strict=True):
                    if isinstance(value, bytes):
                        value = value.decode(errors="surrogateescape")
                    if isinstance(value, str):
                        yield table, column, value


class Reader:
    """One connection, with the names of its tables and columns."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.connection, self.path = connection, path
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        self.columns = {
            name: [column[1] for column in connection.execute(f'PRAGMA table_info("{name}")')]
            for (name,) in tables.fetchall()
        }
        self.strings = {r["id"]: r["value"] for r in self.rows("StringIds")}

    def rows(self, table: str, order: str = "", only: Sequence[str] | None = None) -> Iterator[dict]:
        """Rows of a table as mappings; nothing where there is no such table.

        ``only``: the columns that are wanted, of those that there are; a large table has thirty.
        """
        names = self.columns.get(table, [])
        if only is not None:
            names = [name for name in names if name in only]
        if names:
            wanted = ", ".join(f'"{name}"' for name in names)
            for values in self.connection.execute(f'SELECT {wanted} FROM "{table}" {order}'):
                yield dict(zip(names, values, strict=True))

    def has(self, *tables: str) -> bool:
        return any(table in self.columns for table in tables)

    def book(self) -> NsysBook:
        for table in ("StringIds", "META_DATA_EXPORT"):
            if table not in self.columns:
                raise EvidenceError("this is no export of nsys", where=self.path, expected=f"a table {table}")
        ranges = self.ranges()
        calls, counts = self.calls()
        moments = [(c.thread, c.start) for c in calls.values() if c.thread is not None]
        paths = enclosing_ranges(moments, ranges)
        launch = {key: (call, paths.get((call.thread, call.start), ())) for key, call in calls.items()}
        capture = [(r["name"], r["value"]) for r in self.rows("META_DATA_CAPTURE")]
        system = {r["name"]: r["value"] for r in self.rows("TARGET_INFO_SYSTEM_ENV")}
        memory = ("CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET")
        return NsysBook(
            kernels=self.kernels(launch) if self.has("CUPTI_ACTIVITY_KIND_KERNEL") else None,
            memory=self.memory(launch) if self.has(*memory) else None,
            ranges=ranges if self.has("NVTX_EVENTS") else None,
            calls=counts if self.has("CUPTI_ACTIVITY_KIND_RUNTIME") else None,
            graph_launches=self.graph_launches(),
            diagnostics=self.diagnostics() if self.has("DIAGNOSTIC_EVENT") else None,
            gpus=self.gpus() if self.has("TARGET_INFO_GPU") else None,
            driver=system.get("NvDriverVersion"),
            export={r["name"]: r["value"] for r in self.rows("META_DATA_EXPORT")},
            environment=_environment(capture),
            launching=frozenset(key for key, call in calls.items() if launches(call.name)),
        )

    def ranges(self) -> tuple[RangeRow, ...]:
        events = list(self.rows("NVTX_EVENTS", only=OF_RANGES))
        domains = {
            (e["globalTid"] & PROCESS_OF_THREAD, e["domainId"]): self.text(e)
            for e in events
            if e["eventType"] == DOMAIN_CREATED
        }
        found = [
            RangeRow(
                name=self.text(e) or "",
                domain=domains.get((e["globalTid"] & PROCESS_OF_THREAD, e["domainId"])),
                start=e["start"],
                end=e["end"],
                thread=e["globalTid"],
                style=STYLES[e["eventType"]],
            )
            for e in events
            if e["eventType"] in STYLES
        ]
        return tuple(sorted(found, key=lambda r: (r.start, r.end or 0, r.thread, r.name)))

    def text(self, event: dict) -> str | None:
        """An event's own text, or the registered string that it refers to."""
        registered = self.strings.get(event.get("textId"))
        return event.get("text") if registered is None else registered

    def calls(self) -> tuple[dict[Key, Call], dict[Key, int]]:
        """(process, correlation) -> the first API record with it, and how many there are."""
        first: dict[Key, Call] = {}
        counts: dict[Key, int] = {}
        for row in self.rows("CUPTI_ACTIVITY_KIND_RUNTIME", "ORDER BY start, end", OF_CALLS):
            thread = row["globalTid"]
            key = (None if thread is None else thread & PROCESS_OF_THREAD, row["correlationId"])
            name = self.strings.get(row["nameId"], "")
            first.setdefault(key, Call(name, row["start"], row["end"], thread))
            counts[key] = counts.get(key, 0) + 1
        return first, counts

    def kernels(self, launch: dict) -> tuple[KernelRow, ...]:
        found = []
        for row in self.rows("CUPTI_ACTIVITY_KIND_KERNEL", only=OF_KERNELS):
            common = _common(row, launch)
            found.append(
                KernelRow(
                    **common,
                    symbol=self.strings.get(row.get("mangledName")),
                    demangled=self.strings[row["demangledName"]],
                    short=self.strings[row["shortName"]],
                    grid=(row["gridX"], row["gridY"], row["gridZ"]),
                    block=(row["blockX"], row["blockY"], row["blockZ"]),
                )
            )
        return tuple(sorted(found, key=lambda k: (k.start, k.end, k.stream, k.correlation or 0, k.demangled)))

    def memory(self, launch: dict) -> tuple[MemoryRow, ...]:
        labels = {r["id"]: r.get("label") or r.get("name") for r in self.rows("ENUM_CUDA_MEMCPY_OPER")}
        found = []
        for row in self.rows("CUPTI_ACTIVITY_KIND_MEMCPY"):
            kind = labels.get(row["copyKind"], f"kind {row['copyKind']}")
            found.append(MemoryRow(kind=f"Memcpy {kind}", bytes=row["bytes"], **_common(row, launch)))
        for row in self.rows("CUPTI_ACTIVITY_KIND_MEMSET"):
            found.append(MemoryRow(kind="Memset", bytes=row["bytes"], **_common(row, launch)))
        return tuple(sorted(found, key=lambda m: (m.start, m.end, m.stream, m.correlation or 0, m.kind)))

    def graph_launches(self) -> int | None:
        table = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
        return sum(1 for _ in self.rows(table)) if self.has(table) else None

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        levels = {r["id"]: r["label"] for r in self.rows("ENUM_DIAGNOSTIC_SEVERITY_LEVEL")}
        sources = {r["id"]: r["label"] for r in self.rows("ENUM_DIAGNOSTIC_SOURCE_TYPE")}
        return tuple(
            Diagnostic(levels.get(r["severity"], "Unknown"), sources.get(r["source"], "Unknown"), r["text"])
            for r in self.rows("DIAGNOSTIC_EVENT", "ORDER BY timestamp, rowid")
        )

    def gpus(self) -> tuple[Gpu, ...]:
        return tuple(
            Gpu(r.get("name") or "", r.get("uuid") or "", r.get("busLocation") or "")
            for r in self.rows("TARGET_INFO_GPU")
        )


def _common(row: dict, launch: dict) -> dict:
    """What kernels and memory operations have alike."""
    call, path = launch.get((row.get("globalPid"), row["correlationId"]), (None, ()))
    return {
        "start": row["start"],
        "end": row["end"],
        "device": row["deviceId"],
        "context": row["contextId"],
        "stream": row["streamId"],
        "correlation": row["correlationId"],
        "process": row.get("globalPid"),
        "graph_node": row.get("graphNodeId"),
        "call": call,
        "range_path": path,
    }


def _environment(capture: list[tuple[str, str]]) -> dict[str, str]:
    """Variables in META_DATA_CAPTURE, where they stand as ``NAME="value"``."""
    found = {}
    for name, value in capture:
        if name.endswith(":ENVIRONMENT_VARIABLE"):
            match = re.fullmatch(r'([^=]*)="?(.*?)"?', value, re.DOTALL)
            if match:
                found[match[1]] = match[2]
    return found
