"""Which process of a case runs when, where a measurement is repeated in fresh processes.

One repeat is the timing pass, the torch pass of each variant and the nsys pass.  Every second repeat runs them
the other way round (T A B, B A T, T A B, …; A the torch book, B the nsys book), so that a drift of the machine
that is linear in time favours neither book.  Within either book the variants keep the plan's order in every
repeat: in both books a variant is measured after the same neighbour.

A repeat's files lie as those of the first, in the case's folder itself; those of the others in ``repeat-2/``,
``repeat-3/``, … below it.  numerics is not repeated: it has no duration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PREFIX = "repeat-"


@dataclass(frozen=True)
class Step:
    """One measured process.  ``variant``: of the torch pass, None of the others; ``repeat`` counts from 1."""

    pass_name: str
    variant: str | None
    repeat: int

    @property
    def record(self) -> str:
        """Its run.json, relative to the case's folder."""
        own = {"timing": "", "nsys": "nsys/"}.get(self.pass_name, f"torch/{self.variant}/")
        return f"{folder(self.repeat)}{own}run.json"


def folder(repeat: int) -> str:
    """Where a repeat lies in the case's folder: "" for the first, else "repeat-2/" and so on."""
    return "" if repeat == 1 else f"{PREFIX}{repeat}/"


def number(folder: str) -> int:
    """The repeat whose folder this is.  Raises ValueError for another folder."""
    return int(folder.strip("/").removeprefix(PREFIX)) if folder else 1


def count(plan: Mapping[str, Any], case: Mapping[str, Any]) -> int:
    """Repeats of a case, as the JSON of a plan has it: its own, else the run's (of the first plans, one)."""
    return case.get("repeats") or plan.get("repeats", 1)


def schedule(passes: Sequence[str], variants: Sequence[str], repeats: int) -> list[Step]:
    """All processes of a case in their order.  ``passes``: those that this machine can make."""
    steps = []
    for repeat in range(1, repeats + 1):
        books = [
            [Step("timing", None, repeat)],
            [Step("torch", variant, repeat) for variant in variants],
            [Step("nsys", None, repeat)],
        ]
        for book in books if repeat % 2 else reversed(books):
            steps += [step for step in book if step.pass_name in passes]
    return steps


def position(passes: Sequence[str], variants: Sequence[str], step: Step) -> int:
    """The place of a process in its case's order, from 1; the number of repeats does not change it."""
    return schedule(passes, variants, step.repeat).index(step) + 1


def predecessor(passes: Sequence[str], variants: Sequence[str], step: Step) -> Step | None:
    """The process that runs before this one, None for the first."""
    place = position(passes, variants, step)
    return schedule(passes, variants, step.repeat)[place - 2] if place > 1 else None
