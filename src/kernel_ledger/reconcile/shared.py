"""Kernels whose time is not theirs alone, and what that does to a balance.

A communication kernel runs until the last rank has come, so its time tells of the others' schedule as well, and no
two processes have the same.  A kernel beside one shares the GPU with it, more or less of it from run to run.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..plan_file import Limits
from ..ranks.communication import communicates
from ..ranks.intervals import Stretch, any_touches, union
from .groups import Group

REASON = "it exchanges data with other ranks, or runs beside what does: its tolerance is communication_pct"


def mark(groups: Iterable[Group]) -> None:
    """Note in each group whether it waits for other ranks, or ran beside one that does, in either book."""
    groups = list(groups)
    for book in ("torch", "nsys"):
        spans: dict[str, list[Stretch]] = {}
        for group in groups:
            if communicates(group.name):
                group.shared, ops = True, getattr(group, book)
                spans.setdefault(group.variant, []).extend(ops.stretches())
        unions = {variant: union(stretches) for variant, stretches in spans.items()}
        for group in groups:
            ops, of = getattr(group, book), unions.get(group.variant, [])
            group.shared = group.shared or any_touches(ops.start, ops.end, of)


def limits_for(groups: Iterable[Group], limits: Limits) -> tuple[Limits, list[str]]:
    """The limits of a row made of these groups, and what to say of them."""
    if any(group.shared for group in groups):
        return limits.beside_communication(), [REASON]
    return limits, []
