"""A trace's columns -> the Book that the reconciliation reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from ..columnar import NONE
from ..cuda_calls import is_graph_launch, launches
from ..dropped import lost_records
from ..errors import EvidenceError
from ..evidence import Book, Finding, GpuOp, RangeInstance, place
from ..names import demangle, memory_name
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
    ops = list(operations(columns, calls, owners(columns, calls)))
    if missing := int(np.count_nonzero(calls < 0)):
        text = f"{missing} GPU operations have no launching call"
        findings.append(Finding("structure", text, path.name))
    ranges = announced_ranges(columns, announced)
    placed = with_enclosing(place(ops, ranges))
    unseen = unanswered(columns, ops)
    return Book(path.name, placed, ranges, tuple(findings), unseen, epoch=columns.epoch, rank=columns.rank)


def unanswered(columns: Columns, ops: Iterable[GpuOp]) -> int:
    """How many launching calls left no operation."""
    launched = {op.correlation for op in ops if op.level == "kernel" or op.graph}
    apis = [launches(name) for name in columns.names.all()]
    last = dict(zip(columns.calls["correlation"].tolist(), columns.calls["name"].tolist(), strict=True))
    return len({correlation for correlation, name in last.items() if apis[name]} - launched)


def announced_ranges(columns: Columns, announced: Collection[str]) -> tuple[RangeInstance, ...]:
    names, part = columns.names.all(), columns.annotations
    rows = zip(part["name"].tolist(), part["start"].tolist(), part["end"].tolist(), strict=True)
    return tuple(
        RangeInstance(names[name], start, end) for name, start, end in rows if names[name] in announced
    )


def operations(columns: Columns, calls: np.ndarray, owner: np.ndarray) -> Iterable[GpuOp]:
    """One GpuOp for each operation.  ``calls``, ``owner``: its call and its operator, as in attribution."""
    part, names, texts, threads = (
        columns.operations,
        columns.names.all(),
        columns.texts.all(),
        columns.threads.all(),
    )
    call_start, call_name, call_thread = (columns.calls[key].tolist() for key in ("start", "name", "thread"))
    op_name, op_shapes = (columns.operators[key].tolist() for key in ("name", "shapes"))
    spelled = {
        (name, kind): spelling(names[name], kind)
        for name, kind in set(zip(part["name"].tolist(), part["level"].tolist(), strict=True))
    }
    shown = {i: shapes(texts[i]) for i in set(np.unique(columns.operators["shapes"]).tolist())}
    sizes = {i: geometry(texts[i]) for key in ("grid", "block") for i in np.unique(part[key]).tolist()}
    nodes = {i: node(texts[i]) for i in np.unique(part["node"]).tolist()}
    keys = ("level", "name", "start", "end", "device", "stream", "correlation", "grid", "block", "bytes")
    rows = zip(*(part[k].tolist() for k in (*keys, "node")), calls.tolist(), owner.tolist(), strict=True)
    for kind, name, start, end, device, stream, correlation, grid, block, size, at, call, op in rows:
        yield GpuOp(
            level=OPERATIONS[KINDS[kind]],
            name=spelled[name, kind],
            symbol=names[name],
            start=start,
            end=end,
            device=known(device),
            stream=known(stream),
            correlation=correlation,
            grid=sizes[grid],
            block=sizes[block],
            bytes=known(size),
            launch_start=call_start[call] if call >= 0 else None,
            thread=threads[call_thread[call]] if call >= 0 else None,
            operator=names[op_name[op]] if op >= 0 else "",
            input_shapes=shown[op_shapes[op]] if op >= 0 else "",
            graph=call >= 0 and is_graph_launch(names[call_name[call]]),
            graph_node=nodes[at],
        )


def spelling(name: str, kind: int) -> str:
    """The name by which both books know an operation."""
    return demangle(name) if KINDS[kind] == "kernel" else memory_name(name)


def known(value: int) -> int | None:
    return None if value == NONE else value


def node(text: bytes) -> object:
    """The node of a CUDA graph as Kineto wrote it, None where it did not."""
    return msgspec.json.decode(text) if text else None


def with_enclosing(ops: Iterable[GpuOp]) -> tuple[GpuOp, ...]:
    """A launch without an operator (Triton from Python) belongs to the range around it."""
    return tuple(op if op.operator or op.range is None else replace(op, operator=op.range) for op in ops)
