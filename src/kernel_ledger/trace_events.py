"""A Kineto trace as its events, for what the ledger's books leave out: operators with types, Python frames, resources.

All times are integer ns on the trace's own clock.  The books (kineto.py) stay the evidence; nothing here is a balance.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from .columnar import uncollected
from .errors import EvidenceError
from .kineto import LAUNCHES, NEXT, OPERATIONS
from .kineto.columns import ANNOTATION, OPERATOR
from .kineto.events import ABSENT, Link
from .kineto.stream import Stream
from .kineto.times import one_of_ns
from .names import demangle, memory_name

PYTHON = "python_function"
LINKED = (*LAUNCHES, *OPERATIONS)
KEPT = frozenset((OPERATOR, ANNOTATION, PYTHON, *LINKED))
"""Categories that anybody asks for."""


class Named(msgspec.Struct, gc=False):
    """What an event is."""

    ph: str = ""
    cat: str = ""


class Written(msgspec.Struct, gc=False):
    """An event as it stands in the file, with all its arguments as text."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    tid: int | str | None = None
    ts: msgspec.Raw = ABSENT
    dur: msgspec.Raw = ABSENT
    args: msgspec.Raw = ABSENT


class Args(Mapping[str, Any]):
    """Arguments of an event as Kineto wrote them, which are decoded when they are asked for: most never are."""

    __slots__ = ("text",)

    def __init__(self, text: bytes) -> None:
        self.text = text

    def decoded(self) -> Mapping[str, Any]:
        return json.loads(self.text, parse_float=Decimal) or {}

    def __getitem__(self, key: str) -> Any:
        return self.decoded()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.decoded())

    def __len__(self) -> int:
        return len(self.decoded())


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """A complete event; ``args`` as Kineto wrote them, ``correlation`` what they say of calls and GPU operations."""

    name: str
    category: str
    thread: Any
    start: int
    end: int
    args: Mapping[str, Any]
    correlation: int | None = None


@dataclass(frozen=True, slots=True)
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
    """``events``: those of KEPT by start, the longer first.  ``device``: properties of the first GPU, as Kineto wrote
    them; empty on the CPU."""

    events: tuple[TraceEvent, ...]
    device: Mapping[str, Any]

    @cached_property
    def operators(self) -> tuple[TraceEvent, ...]:
        return tuple(e for e in self.events if e.category == OPERATOR)

    def calls(self, name: str) -> list[TraceEvent]:
        """The instances of an announced range, in order."""
        return [e for e in self.events if e.category == ANNOTATION and e.name == name]

    def launched(self, categories: Sequence[str]) -> list[Launched]:
        """Every GPU operation by start, with the events of ``categories`` around its launching call."""
        calls = {
            e.correlation: e for e in self.events if e.category in LAUNCHES and e.correlation is not None
        }
        outer = enclosing([e for e in self.events if e.category in categories], calls.values())
        found = [e for e in self.events if e.category in OPERATIONS]
        pairs = [(e, calls.get(e.correlation)) for e in found]
        return [Launched(e, call, outer.get(id(call), ()) if call else ()) for e, call in pairs]


def read_events(path: Path) -> TraceEvents:
    """The events of a trace.  Raises EvidenceError on anything unreadable."""
    stream, found = Stream(path, Written), []
    texts: dict[str, str] = {}  # each name is held once, however many events have it
    try:
        with uncollected():
            for events in stream:
                found += [event(e, texts) for e in events if e.ph == "X" and e.cat in KEPT and bytes(e.ts)]
    except (ValueError, TypeError, ArithmeticError, msgspec.MsgspecError) as error:
        raise EvidenceError("this is not a Kineto trace", where=path, found=error, next_step=NEXT) from error
    found.sort(key=lambda e: (e.start, -e.end))
    devices = json.loads(stream.devices, parse_float=Decimal) if stream.devices else None
    return TraceEvents(tuple(found), (devices or [{}])[0])


def has_events(path: Path, category: str) -> bool:
    """Whether a trace has events of this category, without keeping any.  Raises EvidenceError as Stream does."""
    return any(e.cat == category and e.ph == "X" for events in Stream(path, Named) for e in events)


def event(value: Written, texts: dict[str, str]) -> TraceEvent:
    start = one_of_ns(value.ts)
    end = start + (one_of_ns(value.dur) if bytes(value.dur) else 0)
    linked = value.cat in LINKED and bytes(value.args)
    correlation = msgspec.json.decode(value.args, type=Link | None) if linked else None
    name, category = (texts.setdefault(text, text) for text in (value.name, value.cat))
    return TraceEvent(
        name,
        category,
        value.tid,
        start,
        end,
        Args(bytes(value.args)) if bytes(value.args) and value.cat not in LAUNCHES else {},
        correlation.correlation if correlation else None,
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


class Following:
    """Events that follow one another, to be searched by time."""

    def __init__(self, events: Sequence[TraceEvent]) -> None:
        self.events, self.ends = events, [e.end for e in events]
        starts = [e.start for e in events]
        self.in_turn = starts == sorted(starts) and self.ends == sorted(self.ends)

    def holding(self, moment: int) -> int | None:
        """Which of them holds a moment, the first one of several."""
        if not self.in_turn:
            return next((n for n, e in enumerate(self.events) if e.start <= moment <= e.end), None)
        number = bisect_left(self.ends, moment)
        return number if number < len(self.ends) and self.events[number].start <= moment else None


def by_call(launched: Iterable[Launched], calls: Sequence[TraceEvent]) -> list[list[Launched]]:
    """The GPU operations of each call of a range, in the order in which they were launched."""
    found: list[list[Launched]] = [[] for _ in calls]
    following = Following(calls)
    for op in launched:
        number = following.holding(op.call.start) if op.call else None
        if number is not None:
            found[number].append(op)
    key: Callable[[Launched], tuple[int, int]] = lambda op: (op.call.start, op.event.start)  # noqa: E731
    return [sorted(ops, key=key) for ops in found]
