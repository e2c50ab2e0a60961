"""What the page reads of a run: the table, the verdict, and each case's files; what is missing is told, not hidden."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ...errors import EvidenceError
from ...files import read_json, sha256
from ...plan_file import Plan, PlannedCase, read_plan
from ...reconcile import read_table
from ...repeats import PREFIX

Value = TypeVar("Value")


class TimedVariant(msgspec.Struct):
    """Samples of one variant in ns, in the order in which they were taken."""

    samples_ns: list[int]
    stopped: str | None = None


class Timing(msgspec.Struct):
    """timing.json, as far as the page shows it."""

    variants: dict[str, TimedVariant]
    timer: str | None = None
    order: str | None = None
    flush_l2: bool | None = None


class NumericsVariant(msgspec.Struct):
    """One variant's output against the float64 reference; ``shape`` and ``dtype`` are lists of several outputs."""

    agrees: bool | None = None
    shape: list[Any] | None = None
    dtype: str | list[str] | None = None
    nan_count: int | None = None
    clamped_low: int | None = None
    clamped_high: int | None = None
    error_l2: float | None = None
    error_max: float | None = None
    first_disagreement: dict | None = None
    sha256: str | None = None
    reason: str | None = None

    @property
    def output(self) -> str:
        """Types and shapes in words."""
        if not self.shape or not self.dtype:
            return ""
        parts = (
            [(self.dtype, self.shape)]
            if isinstance(self.dtype, str)
            else zip(self.dtype, self.shape, strict=False)
        )
        return ", ".join(
            f"{dtype.removeprefix('torch.')} {'×'.join(map(str, shape))}" for dtype, shape in parts
        )


class Numerics(msgspec.Struct):
    """numerics.json, as far as the page shows it."""

    variants: dict[str, NumericsVariant]
    rtol: float | None = None
    atol: float | None = None


@dataclass
class Case:
    """One case: its rows of the table and its folder of captures.  ``notes`` says what could not be read."""

    workload: str
    case: str
    rows: list[dict]
    folder: Path
    plan: PlannedCase | None
    notes: list[str] = field(default_factory=list)

    @cached_property
    def variants(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(r["variant"] for r in self.rows if r["variant"]))

    def level(self, *levels: str) -> list[dict]:
        return [row for row in self.rows if row["level"] in levels]

    def by_variant(self, level: str) -> dict[str, dict]:
        return {row["variant"]: row for row in self.level(level) if row["variant"]}

    def is_reference(self, variant: str) -> bool:
        """Whether a variant is only there to be compared with, like the copy."""
        return self.plan is not None and self.plan.roles.get(variant) == "reference"

    def in_library(self, operator: str) -> bool:
        """Whether all launches of an operator lie outside the chain, by the plan."""
        return (
            bool(operator)
            and self.plan is not None
            and set(operator.split(" | ")) <= set(self.plan.not_chain)
        )

    def attempt(self, what: str, read: Callable[[], Value]) -> Value | None:
        """Read something; where that fails the page says so in place of showing it."""
        try:
            return read()
        except EvidenceError as error:
            self.notes.append(f"{what}: {' '.join(str(error).replace(f'{self.folder}/', '').split())}")
            return None

    def source(self, name: str) -> str:
        """``file@hash``, as in the table's source columns."""
        path = self.folder / name
        return f"{name}@{sha256(path)[:12]}" if path.is_file() else name

    def repeats(self) -> list[str]:
        """Folders of the repeated measurements: "" for the first, "repeat-2/" and so on."""
        numbers = (p.name.removeprefix(PREFIX) for p in self.folder.glob(f"{PREFIX}*"))
        return ["", *(f"{PREFIX}{n}/" for n in sorted(int(n) for n in numbers if n.isdigit()))]


@dataclass(frozen=True)
class Run:
    """A run: everything that the page is made of."""

    name: str
    rows: list[dict]
    verdict: dict
    cases: list[Case]
    plan: Plan | None
    notes: list[str]
    folder: Path


def read_run(folder: Path, captures: Path) -> Run:
    """Read a run.  Raises EvidenceError only where results.csv or verdict.json cannot be read."""
    rows, verdict = read_table(folder / "results.csv"), read_json(folder / "verdict.json", format=1)
    notes: list[str] = []
    try:
        plan = read_plan(captures / "plan.json")
    except EvidenceError as error:
        plan, notes = None, [" ".join(str(error).replace(f"{captures}/", "").split())]
    planned = {(case.workload, case.case): case for case in plan.cases} if plan else {}
    keys = dict.fromkeys([*((r["workload"], r["case"]) for r in rows), *planned])
    cases = [
        Case(
            workload=key[0],
            case=key[1],
            rows=[r for r in rows if (r["workload"], r["case"]) == key],
            folder=captures / key[0] / key[1],
            plan=planned.get(key),
        )
        for key in keys
    ]
    return Run(folder.name, rows, verdict, cases, plan, notes, folder)


def decode(path: Path, kind: type[Value]) -> Value:
    """A JSON file checked against the types that the page needs.  Raises EvidenceError."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise EvidenceError("this file cannot be read", where=path, found=error.strerror) from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise EvidenceError("this file is not what a pass writes", where=path, found=error) from error


def distinct(values: Sequence[object]) -> list[str]:
    """Different values in the order of their first appearance, as text; None is no value."""
    return list(dict.fromkeys(str(v) for v in values if v is not None))
