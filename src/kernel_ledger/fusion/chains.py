"""Chains: neighbouring memory-bound steps that hand tensors to each other, and what one kernel in their place would move."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from .step import Step, Tensor, distinct
from .steps import VariantSteps


@dataclass(frozen=True)
class Chain:
    """``places``: of its steps in the call.  Bytes and numbers (tensor elements) moved as it is, and by one kernel that reads
    each outer tensor once, keeps the rest in registers, and writes what is used later.  ``intermediates``: buffers written
    and read within; ``kept``: those of them that must be written all the same."""

    places: tuple[int, ...]
    bytes_before: int
    bytes_after: int
    numbers_before: int
    numbers_after: int
    largest: int
    intermediates: int
    kept: int

    @property
    def ratio(self) -> float:
        return self.bytes_before / self.bytes_after if self.bytes_after else 1.0


def chains(variant: VariantSteps) -> list[Chain]:
    """All chains of two steps or more, in order."""
    found = []
    for run in runs(variant.steps):
        for places in components(variant.steps, run):
            if len(places) > 1:
                found.append(priced(variant, places))
    return [chain for chain in found if chain.bytes_after < chain.bytes_before]


def runs(steps: Sequence[Step]) -> Iterator[list[int]]:
    """Places of neighbouring steps that are memory-bound and whose bytes are known."""
    run: list[int] = []
    for place, step in enumerate(steps):
        if step.memory_bound and step.bytes is not None:
            run.append(place)
        elif run:
            yield run
            run = []
    if run:
        yield run


def components(steps: Sequence[Step], run: Sequence[int]) -> list[list[int]]:
    """The parts of a run that are joined by a tensor which one step writes and another reads."""
    writers: dict[Hashable, int] = {}
    group = {place: place for place in run}

    def root(place: int) -> int:
        while group[place] != place:
            place = group[place]
        return place

    for place in run:
        for tensor in steps[place].reads:
            if tensor.buffer in writers:
                group[root(place)] = root(writers[tensor.buffer])
        for tensor in steps[place].writes:
            writers[tensor.buffer] = place
    parts: dict[int, list[int]] = {}
    for place in run:
        parts.setdefault(root(place), []).append(place)
    return list(parts.values())


def priced(variant: VariantSteps, places: Sequence[int]) -> Chain:
    """What a chain moves, before and after."""
    steps = [variant.steps[place] for place in places]
    written: dict[Hashable, Tensor] = {}
    outer: list[Tensor] = []
    inside: set[Hashable] = set()
    for step in steps:
        for tensor in step.reads:
            if tensor.buffer in written:
                inside.add(tensor.buffer)
            else:
                outer.append(tensor)
        for tensor in step.writes:
            written[tensor.buffer] = max(written.get(tensor.buffer, tensor), tensor, key=lambda t: t.bytes)
    needed = [tensor for tensor in written.values() if is_needed(variant, places, tensor, inside)]
    after = [*distinct(outer), *needed]
    tensors = [t for step in steps for t in [*step.reads, *step.writes]]
    return Chain(
        places=tuple(places),
        bytes_before=sum(step.bytes for step in steps),
        bytes_after=sum(t.bytes for t in after),
        numbers_before=sum(step.elements for step in steps),
        numbers_after=sum(t.elements for t in after),
        largest=max(t.elements for t in tensors),
        intermediates=len(inside),
        kept=sum(t.buffer in inside for t in needed),
    )


def is_needed(variant: VariantSteps, places: Sequence[int], tensor: Tensor, inside: set[Hashable]) -> bool:
    """Whether a buffer that a chain writes is used after it.

    Known from the data flow; without it, a tensor that the chain itself reads again is assumed to end there.
    """
    if variant.outlive is None:
        return tensor.buffer not in inside
    if tensor.buffer in variant.outlive:
        return True
    first = min(p for p in places if any(t.buffer == tensor.buffer for t in variant.steps[p].writes))
    later = (s for p, s in enumerate(variant.steps) if p > first and p not in places)
    return any(s.reads is None or any(t.buffer == tensor.buffer for t in s.reads) for s in later)
