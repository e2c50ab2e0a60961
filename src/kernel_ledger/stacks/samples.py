"""Stacks with their time: Python frames, then operators, then the kernel; from the events of one trace.

On CUDA the weight of a stack is the time of the kernels and copies that were launched from it (self CUDA time).  On the CPU,
which has no kernels, it is the self time of operators: their own time without that of operators within.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..kineto.columns import OPERATOR
from ..names import base_name
from ..trace_events import (
    PYTHON,
    Following,
    Launched,
    TraceEvent,
    TraceEvents,
    enclosing,
    has_events,
    read_events,
)

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
FRAME = re.compile(r"(.*)\((\d+)\): (.*)", re.DOTALL)
ROOTS = ("site-packages/", "dist-packages/", "workloads/", "src/")
KEPT_PARTS = 3
OTHER_THREAD = "(launched by a thread without Python frames, such as autograd's)"
MEASURES = {"cuda": "self CUDA time"}
OF_CPU = "self CPU time of operators (device=cpu: there are no kernels)"
NO_FRAMES = "the trace has no Python frames: set torch.with_stack to true in config.yaml"
Frames = tuple[str, ...]


@dataclass(frozen=True)
class Stacks:
    """``weights``: stack, outermost first -> ns in all recorded calls; ``measure``: what the ns are; ``reason``: why there
    is nothing."""

    weights: Mapping[Frames, int]
    measure: str
    reason: str | None = None


def read_stacks(path: Path, name: str, device: str) -> Stacks:
    """The stacks of a trace within an announced range; most traces have no frames, and are not held for it."""
    if not has_events(path, PYTHON):
        return Stacks({}, MEASURES.get(device, OF_CPU), NO_FRAMES)
    return stacks(read_events(path), name, device)


def stacks(events: TraceEvents, name: str, device: str) -> Stacks:
    """The stacks within an announced range."""
    measure = MEASURES.get(device, OF_CPU)
    if not any(e.category == PYTHON for e in events.events):
        return Stacks({}, measure, NO_FRAMES)
    calls = events.calls(name)
    found = by_kernel(events, calls) if device == "cuda" else by_operator(events, calls)
    weights: dict[Frames, int] = {}
    for frames, weight in found:
        weights[frames] = weights.get(frames, 0) + weight
    kept = {frames: weight for frames, weight in sorted(weights.items()) if weight > 0}
    return Stacks(kept, measure, None if kept else "no work lies in its range")


def by_kernel(events: TraceEvents, calls: Sequence[TraceEvent]) -> Iterator[tuple[Frames, int]]:
    following = Following(calls)
    for op in events.launched((PYTHON, OPERATOR)):
        if op.call is not None and following.holding(op.call.start) is not None:
            yield (*frames_of(op.around), leaf(op)), op.duration


def by_operator(events: TraceEvents, calls: Sequence[TraceEvent]) -> Iterator[tuple[Frames, int]]:
    """Self time: an operator's duration, and each directly enclosing operator's minus it."""
    following = Following(calls)
    operators = [e for e in events.operators if following.holding(e.start) is not None]
    outer = enclosing((e for e in events.events if e.category == PYTHON), operators)
    open_at: dict[object, list[TraceEvent]] = {}
    for e in operators:
        stack = open_at.setdefault(e.thread, [])
        while stack and stack[-1].end <= e.start:
            stack.pop()
        path = frames_of(outer.get(id(e), ()))
        yield (*path, *(o.name for o in stack), e.name), e.end - e.start
        if stack:
            yield (*frames_of(outer.get(id(stack[-1]), ())), *(o.name for o in stack)), e.start - e.end
        stack.append(e)


def frames_of(around: Sequence[TraceEvent]) -> Frames:
    """Names of the frames around a moment, from the workload's own on where that can be seen."""
    names = [frame(e.name) if e.category == PYTHON else e.name for e in around]
    if not any(e.category == PYTHON for e in around):
        names.insert(0, OTHER_THREAD)
    own = [place for place, name in enumerate(names) if "kernel_ledger/passes/" in name]
    return tuple(names[own[-1] + 1 :] if own else names)


def frame(name: str) -> str:
    """A frame without what is of this machine or this process alone: folders above the package, addresses."""
    text = ADDRESS.sub("", name)
    match = FRAME.fullmatch(text)
    if not match:
        return text
    path = match[1].replace("\\", "/")
    for root in ROOTS:
        if root in path:
            path = (
                path.rpartition(root)[2]
                if root.endswith("packages/") or root == "src/"
                else root + path.rpartition(root)[2]
            )
            break
    else:
        path = "/".join(path.split("/")[-KEPT_PARTS:]) if path.startswith("/") else path
    return f"{path}:{match[2]} {match[3]}"


def leaf(op: Launched) -> str:
    return base_name(op.name) if op.event.category == "kernel" else op.name
