"""GPU operations, their launching calls and the ranges around these, from the export's tables as columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..columnar import NONE, Column, column
from ..columnar.nesting import NOWHERE, innermost_by_group
from ..columnar.table import combined, dense
from ..cuda_calls import is_graph_launch, launches
from ..errors import EvidenceError
from ..evidence import Operations
from ..names import demangle, memory_name
from .columns import CALLS, COPIES, KERNELS, Calls, Export
from .instances import Events

MEMCPY, MEMSET = COPIES
OF_ALL = ("start", "end", "deviceId", "streamId", "correlationId", "globalPid", "graphNodeId")
GEOMETRY = {"grid": ("gridX", "gridY", "gridZ"), "block": ("blockX", "blockY", "blockZ")}
LAST = np.iinfo(np.int64).max  # the end of a range that was never closed


@dataclass(frozen=True)
class Launching:
    """The API calls, by start.  ``names``: of each call an index into it."""

    calls: Calls
    name: Column
    names: Sequence[str]

    def of(self, process: Column, correlation: Column) -> Column:
        """For each operation the first call with its correlation id in its process, or NOWHERE."""
        return self.calls.launching(process, correlation)

    def doubled(self) -> int:
        """How many correlation ids belong to several calls of a process."""
        number, (_, known) = combined([self.calls.process, self.calls.correlation])
        return int(np.count_nonzero(np.bincount(number, minlength=len(known)) > 1))

    def unanswered(self, process: Column, correlation: Column) -> int:
        """How many launches left no record, where these are the recorded ones; of several calls the first counts."""
        own, at = self.calls.process, len(self.calls.start)
        number, values = combined([np.append(own, process), np.append(self.calls.correlation, correlation)])
        first = np.full(len(values[0]), NOWHERE, dtype=np.int64)
        first[number[:at][::-1]] = np.arange(at)[::-1]  # of several writes to one place the last one stays
        first[number[at:]] = NOWHERE
        starts = np.array([launches(name) for name in self.names], dtype=bool)
        return int(np.count_nonzero(starts[self.name[first[first >= 0]]]))


def launching(source: Export, strings: Mapping[int, str]) -> Launching:
    """The calls in the order of their starts."""
    found = source.columns(CALLS, ("start", "end", "globalTid", "correlationId", "nameId"))
    order = np.lexsort((found[1], found[0]))
    start, end, thread, correlation, name = (values[order] for values in found)
    ids, number = dense(name)
    names = [strings.get(value, "") for value in ids.tolist()]
    return Launching(Calls(start, end, thread, correlation), number, names)


def read_operations(
    source: Export, strings: Mapping[int, str], calls: Launching, events: Events, announced: Collection[str]
) -> Operations:
    """Kernels, then copies, each by start; ``announced``: names of the program's ranges."""
    parts = [kernels(source, strings), memory(source)]
    ops = Operations.joined([part for part in parts if len(part)])
    call = calls.of(ops.column("process"), ops.column("correlation"))
    start, thread = (np.append(of, NONE)[call] for of in (calls.calls.start, calls.calls.thread))
    around = {}
    named = np.array([name in announced for name in events.names], dtype=bool)
    for field, chosen in (("innermost", events.nested), ("thread_range", events.nested & named[events.name])):
        at = np.flatnonzero(chosen)
        last = np.where(events.end[at] == NONE, LAST, events.end[at])
        found = innermost_by_group(events.thread[at], events.start[at], last, thread, start)
        found[thread == NONE] = NOWHERE
        around[field] = np.append(events.name[at], len(events.names))[found], [*events.names, None]
    threads, number = dense(thread)
    graph = [*map(is_graph_launch, calls.names), False]
    return ops.altered(
        launch_start=start,
        thread=(number, [None if value == NONE else value for value in threads.tolist()]),
        graph=(np.append(calls.name, len(calls.names))[call], graph),
        **around,
    )


def common(source: Export, table: str, *more: str) -> list[Column]:
    """The columns that kernels and copies have alike, and some more; what a version does not have is NONE."""
    has = source.tables.get(table, {})
    wanted = [c if c in has or c not in ("globalPid", "graphNodeId") else str(NONE) for c in OF_ALL]
    return source.columns(table, (*wanted, *more))


def kernels(source: Export, strings: Mapping[int, str]) -> Operations:
    mangled = "mangledName" if "mangledName" in source.tables.get(KERNELS, {}) else str(NONE)
    geometry = [axis for axes in GEOMETRY.values() for axis in axes]
    *of_all, symbol, name, gx, gy, gz, bx, by, bz = common(
        source, KERNELS, mangled, "demangledName", *geometry
    )
    which, (symbols, names) = combined([symbol, name])
    if missing := [value for value in names.tolist() if value not in strings]:
        raise EvidenceError("the export does not have the name of a kernel", found=f"no string {missing[0]}")
    plain = [strings[value] for value in names.tolist()]
    spelled = [strings.get(value) or text for value, text in zip(symbols.tolist(), plain, strict=True)]
    ranks = {text: rank for rank, text in enumerate(sorted(set(plain)))}
    order = by_start(of_all, column([ranks[text] for text in plain])[which])
    return operations(
        [values[order] for values in of_all],
        level=(np.zeros(len(order), dtype=np.int64), ["kernel"]),
        symbol=(which[order], spelled),
        name=(which[order], [demangle(text) for text in spelled]),
        grid=sizes([gx, gy, gz], order),
        block=sizes([bx, by, bz], order),
    )


def memory(source: Export) -> Operations:
    """Copies and fills, which are named by what they do."""
    has = "bytes", "copyKind"
    *copies, size, kind = common(source, MEMCPY, *has)
    *fills, filled = common(source, MEMSET, "bytes")
    rows = source.connection.execute("SELECT * FROM ENUM_CUDA_MEMCPY_OPER") if has_labels(source) else ()
    labels = {row["id"]: row.get("label") or row.get("name") for row in named(rows)}
    kinds, number = dense(kind)
    texts = [f"Memcpy {labels.get(value, f'kind {value}')}" for value in kinds.tolist()]
    which = np.append(number, np.full(len(filled), len(texts), dtype=np.int64))
    texts.append("Memset")
    of_all = [np.append(a, b) for a, b in zip(copies, fills, strict=True)]
    ranks = {text: rank for rank, text in enumerate(sorted(set(texts)))}
    order = by_start(of_all, column([ranks[text] for text in texts])[which])
    return operations(
        [values[order] for values in of_all],
        level=(np.zeros(len(order), dtype=np.int64), ["memory"]),
        symbol=(which[order], texts),
        name=(which[order], [memory_name(text) for text in texts]),
        bytes=np.append(size, filled)[order],
    )


def has_labels(source: Export) -> bool:
    return "ENUM_CUDA_MEMCPY_OPER" in source.tables


def named(rows: object) -> list[dict]:
    """Rows of a cursor as mappings."""
    return [dict(zip([c[0] for c in rows.description], row, strict=True)) for row in rows] if rows else []


def by_start(of_all: Sequence[Column], name: Column) -> Column:
    """The order of operations: by start, end, stream, correlation id and name."""
    start, end, _, stream, correlation, *_ = of_all
    known = np.where(correlation == NONE, 0, correlation)
    return np.lexsort((name, known, stream, end, start))


def sizes(axes: Sequence[Column], order: Column) -> tuple[Column, list[tuple]]:
    """Grids or blocks as a coded field."""
    which, values = combined(axes)
    return which[order], list(zip(*(axis.tolist() for axis in values), strict=True))


def operations(of_all: Sequence[Column], **fields: object) -> Operations:
    start, end, device, stream, correlation, process, node = of_all
    nodes, number = dense(node)
    return Operations.build(
        len(start),
        start=start,
        end=end,
        device=device,
        stream=stream,
        correlation=correlation,
        process=process,
        graph_node=(number, [None if value == NONE else value for value in nodes.tolist()]),
        **fields,
    )
