"""A run as a comparison reads it: its table, its verdict, the samples behind the table, and its conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..capture import CaseEvidence, read_case
from ..checks import CHECKS
from ..columns import KEY
from ..errors import EvidenceError
from ..files import read_json, sha256
from ..plan_file import Plan, read_plan
from ..reconcile import read_table
from ..replayed import captures_of, still_the_same
from .conditions import conditions
from .samples import Samples, case_samples

REPLAY = "snakemake --cores 1 --config replay=<folder of the run with captures> run=<another name>"
RowKey = tuple[str, str, str, str, str, int]


@dataclass(frozen=True)
class Run:
    """``conditions``: case ("workload/case") -> what a comparison must hold equal, by its key.

    ``roles``: (workload, case, variant) -> "variant" or "reference".  ``changed``: what is not as it was when judged.
    """

    folder: Path
    verdict: str
    rows: Mapping[RowKey, dict[str, Any]]
    samples: Mapping[RowKey, Samples]
    conditions: Mapping[str, Mapping[str, Any]]
    roles: Mapping[tuple[str, str, str], str]
    changed: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.folder.name


def read_run(folder: Path) -> Run:
    """Read a run's folder.  Raises EvidenceError where it is not one, or there are no captures of it."""
    verdict = read_json(folder / "verdict.json", format=1)
    table = folder / "results.csv"
    if not table.is_file():
        raise EvidenceError("this run has no table", where=table, next_step="run snakemake for it again")
    captures = captures_of(folder, verdict)
    plan_path = captures / "plan.json"
    if not plan_path.is_file():
        replayed = "replay_of" in verdict
        raise EvidenceError(
            f"the captures that this run {'replayed' if replayed else 'was made from'} are not there, "
            "and a comparison needs the samples in them",
            where=folder,
            expected=plan_path,
            next_step=f"bring the replayed run back to {captures.parent}, or replay it from where it is now: {REPLAY}"
            if replayed
            else "if it is the replay of a run by an earlier version, make it again, and its verdict will name "
            f"the captures: {REPLAY}",
        )
    plan = read_plan(plan_path)
    cases = [read_case(plan, case, captures) for case in plan.cases]
    rows = {tuple(r[k] for k in KEY): r for r in read_table(table)}
    changed = [] if unchanged(verdict, table) else ["results.csv is not the table that was judged"]
    if not still_the_same(verdict, captures):
        changed.append(f"{captures} is not what was replayed: it was measured anew since")
    return Run(
        folder=folder,
        verdict=verdict["verdict"],
        rows=rows,
        samples={
            (c.plan.workload, c.plan.case, *key, part.rank): value
            for c in cases
            for part in c.ranks
            for key, value in case_samples(part).items()
        },
        conditions={c.plan.label: conditions(plan, c) for c in cases},
        roles={
            (c.plan.workload, c.plan.case, v): c.plan.roles.get(v, "variant")
            for c in cases
            for v in c.plan.variants
        },
        changed=tuple(changed + [text for c in cases for text in stale(plan, c)]),
    )


def unchanged(verdict: Mapping[str, Any], table: Path) -> bool:
    """Whether the verdict is about this very table; the first verdicts do not say."""
    judged = verdict.get("files", {}).get(table.name)
    return judged is None or judged == sha256(table)


def stale(plan: Plan, case: CaseEvidence) -> list[str]:
    """What the check ``freshness`` says against the captures as they are now."""
    outcomes = [CHECKS["freshness"](plan, repeat, []) for repeat in case.repeats]
    return [f"{case.plan.label}: {o.reason}" for o in outcomes if o.status == "fail"]
