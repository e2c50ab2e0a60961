"""Which kernels exchange data with other ranks, which run beside one, and what that does to a balance.

A communication kernel runs until the last rank has come, so its time tells of the others' schedule as well, and no
two processes have the same.  A kernel beside one shares the GPU with it, more or less of it from run to run.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..evidence import GpuOp
from ..plan_file import Limits
from ..reconcile.groups import Group
from .intervals import touches, union

PREFIX = "nccl"
REASON = "it exchanges data with other ranks, or runs beside what does: its tolerance is communication_pct"


def communicates(name: str) -> bool:
    """Whether a kernel is of NCCL, by its name in either book."""
    return name.lower().startswith(PREFIX)


def mark(groups: Iterable[Group]) -> None:
    """Note in each group whether it waits for other ranks, or ran beside one that does, in either book."""
    groups = list(groups)
    for book in ("torch", "nsys"):
        spans: dict[str, list[tuple[int, int]]] = {}
        for group in groups:
            if communicates(group.name):
                group.shared = True
                spans.setdefault(group.variant, []).extend((op.start, op.end) for op in getattr(group, book))
        unions = {variant: union(stretches) for variant, stretches in spans.items()}
        for group in groups:
            of = unions.get(group.variant, [])
            group.shared = group.shared or any(beside(op, of) for op in getattr(group, book))


def beside(op: GpuOp, of: list[tuple[int, int]]) -> bool:
    return bool(of) and touches((op.start, op.end), of)


def limits_for(groups: Iterable[Group], limits: Limits) -> tuple[Limits, list[str]]:
    """The limits of a row made of these groups, and what to say of them."""
    if any(group.shared for group in groups):
        return limits.beside_communication(), [REASON]
    return limits, []
