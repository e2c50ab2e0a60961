"""A trace as columns: GPU operations, launching calls, operators and annotations, each in the order of the file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from ..columnar import NONE, Column, Names, column, joined, uncollected
from .events import LAUNCHES, OPERATIONS, Args, Event, Linked
from .stream import CHUNK_BYTES, Stream
from .times import column_of_ns

ANNOTATION = "user_annotation"
OPERATOR = "cpu_op"
TOGETHER = 2048  # more would leave the cache before they are looked at again
"""Events that are turned into columns at once."""
GEOMETRY = tuple[int, int, int]


@dataclass
class Part:
    """Events of one kind as parallel columns, which grow by one array for each stretch of the file."""

    arrays: dict[str, list[Column]] = field(default_factory=dict)

    def add(self, **columns: Sequence[int] | Column) -> None:
        for name, values in columns.items():
            self.arrays.setdefault(name, []).append(column(values))

    def __getitem__(self, name: str) -> Column:
        if len(parts := self.arrays.get(name, [])) > 1:
            self.arrays[name] = parts = [joined(parts)]
        return parts[0] if parts else column()


@dataclass
class Columns:
    """``names``, ``threads``, ``texts`` (JSON of shapes and geometries): what the columns' indices mean.

    ``operations``: name, level (index of LEVELS), start, end, correlation, device, stream, grid, block, bytes,
    node.  ``calls``: name, start, thread, correlation.  ``operators`` and ``annotations``: name, start, end,
    thread, the former with their shapes.  Without ``detail``, of Linked events: operations have ``lasting``
    in place of start and end, and there is no device, stream, geometry, bytes, node, shapes and name of a call.
    """

    detail: bool = True
    names: Names = field(default_factory=Names)
    threads: Names = field(default_factory=Names)
    texts: Names = field(default_factory=Names)
    operations: Part = field(default_factory=Part)
    calls: Part = field(default_factory=Part)
    operators: Part = field(default_factory=Part)
    annotations: Part = field(default_factory=Part)
    said: list[str] = field(default_factory=list)
    epoch: int | None = None
    rank: int | None = None

    def __post_init__(self) -> None:
        self.kinds: tuple[list[Event], ...] = ([], [], [], [])
        operations, calls, operators, annotations = self.kinds
        self.waiting = {OPERATOR: operators, ANNOTATION: annotations}
        self.waiting |= dict.fromkeys(OPERATIONS, operations) | dict.fromkeys(LAUNCHES, calls)

    def add(self, events: Iterable[Event]) -> None:
        """Sort the complete events of one stretch by what they are; ``settle`` makes columns of them."""
        find = self.waiting.get
        for event in events:
            kind = find(event.cat)
            if kind is not None and event.ph == "X":
                kind.append(event)
        if sum(map(len, self.kinds)) >= TOGETHER:
            self.settle()

    def settle(self) -> None:
        """Enter the waiting events in their columns.  ValueError for one without a time."""
        operations, calls, operators, annotations = self.kinds
        self.add_operations(operations)
        self.add_calls([e for e in calls if e.args and e.args.correlation is not None])
        self.add_operators(operators)
        if annotations:
            self.annotations.add(**spans(annotations), name=[self.names[e.name] for e in annotations])
        for kind in self.kinds:
            kind.clear()

    def add_operators(self, events: list[Event]) -> None:
        if not events:
            return
        names, threads, texts = self.names, self.threads, self.texts
        self.operators.add(
            **spans(events), name=[names[e.name] for e in events], thread=[threads[e.tid] for e in events]
        )
        if self.detail:
            shapes = [texts[bytes(e.args.input_dims) if e.args else b""] for e in events]
            self.operators.add(shapes=shapes)

    def add_operations(self, events: list[Event]) -> None:
        if not events:
            return
        names = self.names
        arguments = [e.args or Args() for e in events]
        for event, args in zip(events, arguments, strict=True):
            if args.correlation is None:
                raise ValueError(f"{event.cat} event {event.name[:60]!r} has no correlation id")
        self.operations.add(
            **(spans(events) if self.detail else {"lasting": column_of_ns([e.dur for e in events])}),
            name=[names[e.name] for e in events],
            level=[LEVEL[e.cat] for e in events],
            correlation=[a.correlation for a in arguments],
        )
        if self.detail:
            self.add_detail(arguments)

    def add_detail(self, arguments: list[Args]) -> None:
        texts = self.texts
        self.operations.add(
            device=[NONE if a.device is None else a.device for a in arguments],
            stream=[NONE if a.stream is None else a.stream for a in arguments],
            grid=[texts[bytes(a.grid)] for a in arguments],
            block=[texts[bytes(a.block)] for a in arguments],
            bytes=[NONE if a.bytes is None else a.bytes for a in arguments],
            node=[texts[bytes(a.graph_node)] for a in arguments],
        )

    def add_calls(self, events: list[Event]) -> None:
        if events:
            names, threads = self.names, self.threads
            self.calls.add(
                start=column_of_ns([e.ts for e in events]),
                thread=[threads[e.tid] for e in events],
                correlation=[e.args.correlation for e in events],
            )
            if self.detail:
                self.calls.add(name=[names[e.name] for e in events])


KINDS = list(OPERATIONS)
LEVEL = {kind: index for index, kind in enumerate(KINDS)}


def spans(events: list[Event]) -> dict[str, Column]:
    start = column_of_ns([e.ts for e in events])
    return {"start": start, "end": start + column_of_ns([e.dur for e in events])}


def read_columns(path: Path, chunk_bytes: int = CHUNK_BYTES, detail: bool = True) -> Columns:
    """Read a trace.  ``chunk_bytes``: as of Stream.  Raises EvidenceError, ValueError for an unusable time."""
    stream, columns = Stream(path, Event if detail else Linked, chunk_bytes), Columns(detail)
    with uncollected():
        for events in stream:
            columns.add(events)
        columns.settle()
    columns.said, columns.epoch, columns.rank = stream.said, stream.epoch, stream.rank
    return columns


def shapes(text: bytes) -> str:
    """Input shapes as compact JSON, empty where the profiler recorded none."""
    value = msgspec.json.decode(text) if text else None
    return json.dumps(value, separators=(",", ":")) if value else ""


def geometry(text: bytes) -> GEOMETRY | None:
    """A grid or block, None where there is none."""
    value = msgspec.json.decode(text, type=list[int] | None) if text else None
    return tuple(value) if value else None
