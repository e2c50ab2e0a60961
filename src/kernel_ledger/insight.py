"""What a run's captures tell beyond the balance: fusion candidates, roofline, operators of both tools, kernels' code, stacks.

Everything is made from files, also on a replay; what the captures do not hold is said, not guessed.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import EvidenceError
from .files import read_json, write_text
from .fusion import VariantSteps, variant_steps
from .plan_file import Plan, PlannedCase
from .reconcile.table import cell


@dataclass(frozen=True)
class CaseInsight:
    """A case with its rows of results.csv and the steps of each variant whose trace can be read.

    ``unreadable``: variant -> why it cannot.  ``folder``: of its captures.  ``l2_bytes``: of the GPU's cache.
    ``expected``: variant -> what the program knew of its kernels before they ran.
    """

    plan: PlannedCase
    device: str
    folder: Path
    rows: Sequence[dict[str, Any]]
    steps: Mapping[str, VariantSteps]
    unreadable: Mapping[str, str]
    l2_bytes: int | None
    expected: Mapping[str, Sequence[dict[str, Any]]]

    def identity(self, run: str, variant: str | None = None) -> dict[str, str]:
        own = {"run": run, "workload": self.plan.workload, "case": self.plan.case}
        return own if variant is None else own | {"variant": variant}

    def row(self, variant: str, level: str) -> dict[str, Any] | None:
        return next((r for r in self.rows if (r["variant"], r["level"]) == (variant, level)), None)


def read_cases(plan: Plan, captures: Path, rows: Iterable[dict[str, Any]]) -> list[CaseInsight]:
    """Every case of a plan."""
    rows = list(rows)
    return [read_case(plan, case, captures, rows) for case in plan.cases]


def read_case(plan: Plan, case: PlannedCase, captures: Path, rows: list[dict[str, Any]]) -> CaseInsight:
    folder, steps, unreadable = captures / case.workload / case.case, {}, {}
    for variant in case.variants:
        try:
            steps[variant] = variant_steps(case, variant, folder)
        except EvidenceError as error:
            unreadable[variant] = " ".join(f"{error.what} {error.found or ''}".split())
    own = [r for r in rows if (r["workload"], r["case"], r["rank"]) == (case.workload, case.case, 0)]
    record = recorded(folder / "run.json")
    cache, expected = (record.get("gpu") or {}).get("l2_bytes"), record.get("expectations", {})
    return CaseInsight(case, plan.device, folder, own, steps, unreadable, cache, expected)


def recorded(path: Path) -> dict[str, Any]:
    """The record of a pass, empty where it cannot be read; the verdict says so."""
    try:
        return read_json(path, format=1)
    except EvidenceError:
        return {}


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """A CSV, whole or not at all; unknown is an empty cell, and no text is a formula."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([cell(row.get(name)) for name in columns] for row in rows)
    write_text(path, stream.getvalue())
