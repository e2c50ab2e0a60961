"""What a call is made of: steps, each an operator with the GPU operations that it launched."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from ..trace_events import Launched


@dataclass(frozen=True)
class Tensor:
    """A view of a buffer.  ``key``: equal for equal views; ``elements`` and ``bytes``: of what lies in memory."""

    buffer: Hashable
    key: Hashable
    elements: int
    bytes: int


@dataclass(frozen=True)
class Step:
    """``kind``: "pointwise", "reduction", "library", "own", "copy" or "unknown".  ``ns``: median over the calls of its GPU
    time; ``launched``: its operations in the first call.  ``reads`` and ``writes`` are None where they cannot be known,
    and ``reason`` says why."""

    operator: str
    kind: str
    ns: float
    launched: tuple[Launched, ...]
    reads: tuple[Tensor, ...] | None
    writes: tuple[Tensor, ...] | None
    reason: str | None = None
    shapes: tuple = ()
    types: tuple = ()

    @property
    def memory_bound(self) -> bool:
        return self.kind in ("pointwise", "reduction")

    @property
    def bytes(self) -> int | None:
        """Bytes that it reads and writes, each view once."""
        if self.reads is None or self.writes is None:
            return None
        return sum(t.bytes for t in [*distinct(self.reads), *distinct(self.writes)])

    @property
    def elements(self) -> int:
        return sum(t.elements for t in [*distinct(self.reads or ()), *distinct(self.writes or ())])


def distinct(tensors: Iterable[Tensor]) -> list[Tensor]:
    """Each view once, in order."""
    return list({t.key: t for t in tensors}.values())
