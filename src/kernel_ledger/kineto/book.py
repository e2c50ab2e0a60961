"""A trace's columns -> the Book that the reconciliation reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ..columnar import NONE, Column, column
from ..columnar.table import combined, dense
from ..cuda_calls import is_graph_launch, launches
from ..dropped import lost_records
from ..errors import EvidenceError
from ..evidence import Book, Finding, Instances, Operations
from ..names import demangle, memory_name
from ..placing import place
from .attribution import doubled, launching_calls, owners
from .columns import KINDS, Columns, geometry, read_columns, shapes
from .events import OPERATIONS
from .stream import CHUNK_BYTES, NEXT


def read(path: Path, announced: Collection[str], chunk_bytes: int = CHUNK_BYTES) -> Book:
    """Read the trace of one torch pass.

    ``announced``: names of the ranges that the program announced.  Returns a Book whose findings name
    records that contradict themselves.  Raises EvidenceError where the file cannot be read at all.
    """
    try:
        columns = read_columns(path, chunk_bytes)
        book = build_book(path, columns, announced)
    except msgspec.MsgspecError as error:
        raise EvidenceError("this is not a Kineto trace", where=path, found=error, next_step=NEXT) from error
    except (ValueError, TypeError, OverflowError) as error:
        raise EvidenceError("an event has no usable time", where=path, found=error, next_step=NEXT) from error
    lost = tuple(Finding("conservation", text, path.name) for text in lost_records(columns.said))
    return replace(book, findings=(*book.findings, *lost))


def build_book(path: Path, columns: Columns, announced: Collection[str]) -> Book:
    """Operations with what launched them, ranges, and what contradicts itself."""
    findings = [
        Finding("structure", f"{count} launching calls share correlation {correlation}", path.name)
        for correlation, count in doubled(columns)
    ]
    calls = launching_calls(columns)
    ops = operations(columns, calls, owners(columns, calls))
    if missing := int(np.count_nonzero(calls < 0)):
        text = f"{missing} GPU operations have no launching call"
        findings.append(Finding("structure", text, path.name))
    ranges = announced_ranges(columns, announced)
    unseen = unanswered(columns, ops)
    ops = with_enclosing(place(ops, ranges))
    return Book(path.name, ops, ranges, tuple(findings), unseen, epoch=columns.epoch, rank=columns.rank)


def unanswered(columns: Columns, ops: Operations) -> int:
    """How many launching calls left no operation; of calls that share a correlation the last one counts."""
    correlation = columns.calls["correlation"]
    rank = np.argsort(correlation, kind="stable")
    last = rank[np.append(correlation[rank][1:] != correlation[rank][:-1], True)] if len(rank) else rank
    apis = np.array([launches(name) for name in columns.names.all()], dtype=bool)
    started = correlation[last[apis[columns.calls["name"][last]]]]
    launched = ops.take(ops.has("level", "kernel") | ops.has("graph", True)).column("correlation")
    return len(np.setdiff1d(started, launched))


def announced_ranges(columns: Columns, announced: Collection[str]) -> Instances:
    names, part = columns.names.all(), columns.annotations
    known = np.array([name in announced for name in names], dtype=bool)
    ours = np.flatnonzero(known[part["name"]]) if len(part["name"]) else column()
    name, start, end = (part[key][ours] for key in ("name", "start", "end"))
    return Instances.build(len(ours), name=(name, names), start=start, end=end)


def operations(columns: Columns, calls: Column, owner: Column) -> Operations:
    """``calls``, ``owner``: of each operation its call and its operator, as in attribution."""
    part, names, texts = columns.operations, columns.names.all(), columns.texts.all()
    which, spelled = combined([part["name"], part["level"]])
    sizes = {key: decoded(part[key], texts, geometry) for key in ("grid", "block")}
    owning = columns.operators
    dims, shown = decoded(owning["shapes"], texts, shapes)
    return Operations.build(
        len(calls),
        **{key: part[key] for key in ("start", "end", "device", "stream", "correlation", "bytes")},
        level=(part["level"], list(OPERATIONS.values())),
        name=(which, [spelling(names[n], kind) for n, kind in zip(*lists(spelled), strict=True)]),
        symbol=(part["name"], names),
        **sizes,
        graph_node=decoded(part["node"], texts, node),
        launch_start=of_other(columns.calls["start"], calls, NONE),
        thread=of_owner(columns.calls["thread"], calls, columns.threads.all(), None),
        graph=of_owner(columns.calls["name"], calls, [is_graph_launch(name) for name in names], False),
        operator=of_owner(owning["name"], owner, names, ""),
        input_shapes=of_owner(dims, owner, shown, ""),
    )


def of_other(values: Column, at: Column, absent: int) -> Column:
    """``values`` of the records that ``at`` refers to; ``absent`` where it refers to none."""
    return np.append(values, absent)[at]  # NOWHERE takes the last


def of_owner(codes: Column, at: Column, values: Sequence[Any], absent: object) -> tuple[Column, list[Any]]:
    """A coded field of the records that ``at`` refers to."""
    return of_other(codes, at, len(values)), [*values, absent]


def decoded(codes: Column, texts: Sequence[bytes], read: Callable[[bytes], Any]) -> tuple[Column, list[Any]]:
    """(codes, values) of JSON texts: each text is decoded once."""
    used, number = dense(codes)
    return number, [read(texts[code]) for code in used.tolist()]


def lists(columns: Iterable[Column]) -> list[list[int]]:
    return [values.tolist() for values in columns]


def spelling(name: str, kind: int) -> str:
    """The name by which both books know an operation."""
    return demangle(name) if KINDS[kind] == "kernel" else memory_name(name)


def node(text: bytes) -> object:
    """The node of a CUDA graph as Kineto wrote it, None where it did not."""
    return msgspec.json.decode(text) if text else None


def with_enclosing(ops: Operations) -> Operations:
    """A launch without an operator (Triton from Python) belongs to the range around it."""
    operators, ranges = list(ops.values("operator")), list(ops.values("range"))
    lent = ops.has("operator", "") & ~ops.has("range", None)
    codes = np.where(lent, ops.column("range") + len(operators), ops.column("operator"))
    return ops.altered(operator=(codes, [*operators, *ranges]))
