"""A Kineto trace as its events, for what the ledger's books leave out: operators with types, Python frames, resources.

All times are integer ns on the trace's own clock.  The books (kineto.py) stay the evidence; nothing here is a balance.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from .errors import EvidenceError
from .kineto import LAUNCHES, NEXT, OPERATIONS, nanoseconds, read_bytes
from .names import demangle, memory_name


@dataclass(frozen=True)
class TraceEvent:
    """A complete event; ``args`` as Kineto wrote them."""

    name: str
    category: str
    thread: Any
    start: int
    end: int
    args: Mapping[str, Any]


@dataclass(frozen=True)
class Launched:
    """A GPU operation with the host events around its launching call, outermost first; the call may be missing."""

    event: TraceEvent
    call: TraceEvent | None
    around: tuple[TraceEvent, ...]

    @property
    def name(self) -> str:
        return demangle(self.event.name) if self.event.category == "kernel" else memory_name(self.event.name)

    @property
    def duration(self) -> int:
        return self.event.end - self.event.start


@dataclass(frozen=True)
class TraceEvents:
    """``device``: properties of the first GPU, as Kineto wrote them; empty on the CPU."""

    events: tuple[TraceEvent, ...]
    device: Mapping[str, Any]

    @cached_property
    def operators(self) -> tuple[TraceEvent, ...]:
        return tuple(e for e in self.events if e.category == "cpu_op")

    def calls(self, name: str) -> list[TraceEvent]:
        """The instances of an announced range, in order."""
        return [e for e in self.events if e.category == "user_annotation" and e.name == name]

    def launched(self, categories: Sequence[str]) -> list[Launched]:
        """Every GPU operation by start, with the events of ``categories`` around its launching call."""
        calls = {
            e.args["correlation"]: e
            for e in self.events
            if e.category in LAUNCHES and "correlation" in e.args
        }
        outer = enclosing([e for e in self.events if e.category in categories], calls.values())
        found = [e for e in self.events if e.category in OPERATIONS]
        pairs = [(e, calls.get(e.args.get("correlation"))) for e in found]
        return [Launched(e, call, outer.get(id(call), ()) if call else ()) for e, call in pairs]


def read_events(path: Path) -> TraceEvents:
    """The complete events of a trace by start, the longer first.  Raises EvidenceError on anything unreadable."""
    try:
        trace = json.loads(read_bytes(path), parse_float=Decimal)
        events = [event(e) for e in trace["traceEvents"] if e.get("ph") == "X" and "ts" in e]
    except (ValueError, KeyError, TypeError, AttributeError, msgspec.MsgspecError) as error:
        raise EvidenceError("this is not a Kineto trace", where=path, found=error, next_step=NEXT) from error
    devices = trace.get("deviceProperties") or [{}]
    return TraceEvents(tuple(sorted(events, key=lambda e: (e.start, -e.end))), devices[0])


def event(value: Mapping[str, Any]) -> TraceEvent:
    start = nanoseconds(Decimal(value["ts"]))
    end = start + nanoseconds(Decimal(value.get("dur", 0)))
    return TraceEvent(
        value.get("name", ""), value.get("cat", ""), value.get("tid"), start, end, value.get("args") or {}
    )


def enclosing(outer: Iterable[TraceEvent], inner: Iterable[TraceEvent]) -> dict[int, tuple[TraceEvent, ...]]:
    """id of an inner event -> the outer events of its thread in which it began, outermost first."""
    found: dict[int, tuple[TraceEvent, ...]] = {}
    threads: dict[Any, list[tuple[int, int, int, int, TraceEvent]]] = {}
    for number, e in enumerate(outer):
        threads.setdefault(e.thread, []).append((e.start, 0, -e.end, number, e))
    for number, e in enumerate(inner):
        threads.setdefault(e.thread, []).append((e.start, 1, 0, number, e))
    for entries in threads.values():
        stack: list[TraceEvent] = []
        for start, kind, _, _, e in sorted(entries, key=lambda entry: entry[:4]):
            stack = [around for around in stack if around.end > start or (kind and around.end == start)]
            if kind == 0:
                stack.append(e)
            else:
                found[id(e)] = tuple(stack)
    return found


def within(events: Sequence[TraceEvent], moment: int) -> int | None:
    """Which of these events, which follow one another, holds a moment."""
    for number, e in enumerate(events):
        if e.start <= moment <= e.end:
            return number
    return None


def by_call(launched: Iterable[Launched], calls: Sequence[TraceEvent]) -> list[list[Launched]]:
    """The GPU operations of each call of a range, in the order in which they were launched."""
    found: list[list[Launched]] = [[] for _ in calls]
    for op in launched:
        number = within(calls, op.call.start) if op.call else None
        if number is not None:
            found[number].append(op)
    key: Callable[[Launched], tuple[int, int]] = lambda op: (op.call.start, op.event.start)  # noqa: E731
    return [sorted(ops, key=key) for ops in found]
