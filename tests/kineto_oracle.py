"""The reader of traces as it was before it read columns: event by event, from one decoded list.  An oracle for tests.

Only per-event records count.  Rows that repeat a kernel's time (gpu_user_annotation, "Activity Buffer
Request", compiled regions) are of other categories and are never read as kernels.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
from place_oracle import place

from kernel_ledger.dropped import lost_records
from kernel_ledger.errors import EvidenceError
from kernel_ledger.evidence import Book, Finding, GpuOp, RangeInstance
from kernel_ledger.names import demangle, memory_name

OPERATIONS = {"kernel": "kernel", "gpu_memcpy": "memory", "gpu_memset": "memory"}
LAUNCHES = ("cuda_runtime", "cuda_driver")
NEXT = "record the torch pass of this variant again"


class Args(msgspec.Struct):
    """The arguments that we read; Kineto writes many more."""

    external_id: Any = msgspec.field(name="External id", default=None)
    correlation: int | None = None
    device: int | None = None
    stream: int | None = None
    grid: list[int] | None = None
    block: list[int] | None = None
    bytes: int | None = None
    input_dims: Any = msgspec.field(name="Input Dims", default=None)
    graph_node: Any = msgspec.field(name="graph node id", default=None)


class Event(msgspec.Struct):
    """One entry of traceEvents; ``ts`` and ``dur`` are microseconds with up to three decimals."""

    ph: str = ""
    name: str = ""
    cat: str = ""
    tid: int | str | None = None
    ts: Decimal | None = None
    dur: Decimal | None = None
    args: Args | None = None


class Trace(msgspec.Struct):
    """``WARNING`` and ``ERROR``: what Kineto's own logger put beside the events, as lists of text."""

    traceEvents: list[Event]
    WARNING: Any = None
    ERROR: Any = None


def nanoseconds(microseconds: Decimal | None) -> int | None:
    """Exact integer ns of a Kineto time; ValueError where it is not a whole number of ns."""
    if microseconds is None:
        return None
    value = microseconds * 1000
    whole = int(value)
    if whole != value:
        raise ValueError(f"{microseconds} us is not a whole number of nanoseconds")
    return whole


def read_bytes(path: Path) -> bytes:
    """The JSON text of a trace, gzipped or not.  Raises EvidenceError on a missing or truncated file."""
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    except FileNotFoundError:
        raise EvidenceError("there is no trace", where=path, next_step=NEXT) from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise EvidenceError(
            "the trace is truncated or not gzip", where=path, found=error, next_step=NEXT
        ) from error


def decode(path: Path) -> Trace:
    """A trace with its complete ("X") events.  Raises EvidenceError on anything that is not such a trace."""
    try:
        trace = msgspec.json.decode(read_bytes(path), type=Trace)
    except msgspec.MsgspecError as error:
        raise EvidenceError("this is not a Kineto trace", where=path, found=error, next_step=NEXT) from error
    trace.traceEvents = [event for event in trace.traceEvents if event.ph == "X"]
    return trace


def shapes(args: Args | None) -> str:
    """Input shapes as compact JSON, empty where the profiler recorded none."""
    return "" if args is None or not args.input_dims else json.dumps(args.input_dims, separators=(",", ":"))


def innermost_operators(operators: Iterable[Event], calls: Iterable[Event]) -> dict[int, Event]:
    """For each launching call (by correlation) the innermost operator around its start, on its thread."""
    found: dict[int, Event] = {}
    threads: dict[Any, list[tuple[int, int, int, Event]]] = {}
    for event in operators:
        start = nanoseconds(event.ts)
        threads.setdefault(event.tid, []).append((start, 0, -(start + nanoseconds(event.dur)), event))
    for event in calls:
        threads.setdefault(event.tid, []).append((nanoseconds(event.ts), 1, 0, event))
    for entries in threads.values():
        stack: list[tuple[int, Event]] = []
        for start, kind, minus_end, event in sorted(entries, key=lambda e: e[:3]):
            while stack and stack[-1][0] < start:
                stack.pop()
            if kind == 0:
                stack.append((-minus_end, event))
            elif stack:
                found[event.args.correlation] = stack[-1][1]
    return found


def read(path: Path, announced: Collection[str]) -> Book:
    """Read the trace of one torch pass.

    ``announced``: names of the ranges that the program announced.  Returns a Book whose findings name
    records that contradict themselves.  Raises EvidenceError where the file cannot be read at all.
    """
    trace = decode(path)
    said = [str(part) for part in (trace.WARNING, trace.ERROR) if part]
    lost = tuple(Finding("conservation", text, path.name) for text in lost_records(said))
    try:
        book = build_book(path, trace.traceEvents, announced)
        return replace(book, findings=(*book.findings, *lost))
    except (ValueError, TypeError) as error:
        raise EvidenceError("an event has no usable time", where=path, found=error, next_step=NEXT) from error


def build_book(path: Path, events: list[Event], announced: Collection[str]) -> Book:
    """Sort a trace's events into operations, launches, operators and ranges."""
    findings: list[Finding] = []
    calls = [e for e in events if e.cat in LAUNCHES and e.args and e.args.correlation is not None]
    by_correlation = {e.args.correlation: e for e in calls}
    for correlation, count in Counter(e.args.correlation for e in calls).items():
        if count > 1:
            findings.append(
                Finding("structure", f"{count} launching calls share correlation {correlation}", path.name)
            )
    owners = innermost_operators((e for e in events if e.cat == "cpu_op"), calls)
    ranges = tuple(
        RangeInstance(e.name, nanoseconds(e.ts), nanoseconds(e.ts) + nanoseconds(e.dur))
        for e in events
        if e.cat == "user_annotation" and e.name in announced
    )
    ops = [operation(e, by_correlation, owners) for e in events if e.cat in OPERATIONS]
    missing = sum(op.launch_start is None for op in ops)
    if missing:
        findings.append(Finding("structure", f"{missing} GPU operations have no launching call", path.name))
    placed = place(ops, ranges)
    launched = {op.correlation for op in ops if op.level == "kernel" or op.graph}
    launches = {c for c, e in by_correlation.items() if is_kernel_launch(e.name) or is_graph_launch(e.name)}
    return Book(path.name, with_enclosing(placed), ranges, tuple(findings), len(launches - launched))


def is_kernel_launch(api: str) -> bool:
    """Whether a CUDA API call launches kernels (cudaLaunchKernel*, cuLaunchKernel*, cooperative ones)."""
    return "LaunchKernel" in api or "LaunchCooperativeKernel" in api


def is_graph_launch(api: str) -> bool:
    """Whether a CUDA API call replays a graph: it launches many operations, kernels or copies."""
    return "GraphLaunch" in api


def operation(event: Event, calls: dict[int, Event], owners: dict[int, Event]) -> GpuOp:
    """One GPU operation with its launching call and the operator around that call."""
    args = event.args or Args()
    if args.correlation is None:
        raise ValueError(f"{event.cat} event {event.name[:60]!r} has no correlation id")
    call, owner = calls.get(args.correlation), owners.get(args.correlation)
    start = nanoseconds(event.ts)
    return GpuOp(
        level=OPERATIONS[event.cat],
        name=memory_name(event.name) if event.cat != "kernel" else demangle(event.name),
        symbol=event.name,
        start=start,
        end=start + nanoseconds(event.dur),
        device=args.device,
        stream=args.stream,
        correlation=args.correlation,
        grid=tuple(args.grid) if args.grid else None,
        block=tuple(args.block) if args.block else None,
        bytes=args.bytes,
        launch_start=nanoseconds(call.ts) if call else None,
        thread=call.tid if call else None,
        operator=owner.name if owner else "",
        input_shapes=shapes(owner.args) if owner else "",
        graph=bool(call) and is_graph_launch(call.name),
        graph_node=args.graph_node,
    )


def with_enclosing(ops: Iterable[GpuOp]) -> tuple[GpuOp, ...]:
    """A launch without an operator (Triton from Python) belongs to the range around it."""
    return tuple(op if op.operator or op.range is None else replace(op, operator=op.range) for op in ops)
