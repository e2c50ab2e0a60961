"""Slices of a timeline, and how those of one track are laid into lanes in which they nest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..evidence import GpuOp

Value = int | str


@dataclass(frozen=True, slots=True)
class Slice:
    """Something that a tool recorded from ``start`` to ``end``, in ns on that tool's own clock.

    ``end`` None: never closed in the recording.  ``place``: the moment that decides which variant it
    belongs to (of GPU work: its launch).  ``flow``: the correlation id that ties a launching call to its
    GPU work, None for neither.
    """

    start: int
    end: int | None
    name: str
    category: str
    track: str
    place: int
    flow: int | None = None
    arguments: tuple[tuple[str, Value], ...] = ()

    @property
    def whole(self) -> bool:
        """Whether it has an end that does not lie before its start."""
        return self.end is not None and self.end >= self.start

    @property
    def last(self) -> int:
        return max(self.start, self.start if self.end is None else self.end)


def gpu_slice(op: GpuOp) -> Slice:
    """A kernel or memory operation on its stream's track."""
    given = {
        "grid": None if op.grid is None else "x".join(map(str, op.grid)),
        "block": None if op.block is None else "x".join(map(str, op.block)),
        "bytes": op.bytes,
        "operator": op.operator or None,
        "input shapes": op.input_shapes or None,
        "iteration": op.iteration,
        "correlation": op.correlation,
    }
    return Slice(
        start=op.start,
        end=op.end,
        name=op.name,
        category=op.level,
        track=f"GPU {op.device} stream {op.stream}",
        place=op.start if op.launch_start is None else op.launch_start,
        flow=op.correlation,
        arguments=tuple((name, value) for name, value in given.items() if value is not None),
    )


def in_order(slices: Iterable[Slice]) -> list[Slice]:
    """By start, an enclosing slice before what it encloses; no two different slices compare equal."""
    return sorted(
        slices, key=lambda s: (s.start, -s.last, s.category, s.name, s.track, s.flow or 0, s.arguments)
    )


def lanes(slices: Sequence[Slice]) -> list[list[Slice]]:
    """Slices of one track, in order, spread over as few lanes as it takes for each to nest.

    A track of Perfetto is a stack: two slices that overlap without one enclosing the other would be drawn
    wrong on the same one.
    """
    found: list[list[Slice]] = []
    stacks: list[list[int]] = []
    for one in slices:
        for lane, stack in zip(found, stacks, strict=True):
            while stack and stack[-1] <= one.start:
                stack.pop()
            if not stack or one.last <= stack[-1]:
                lane.append(one)
                stack.append(one.last)
                break
        else:
            found.append([one])
            stacks.append([one.last])
    return found
