"""The verdict of a run: every check over every case, and what they add up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os.path import normpath

from .capture import CaseEvidence
from .checks import CHECKS
from .checks.outcome import FAIL, NOT_APPLICABLE, PASS, UNKNOWN, Outcome
from .plan_file import Plan
from .ranks.faults import between_ranks
from .reconcile.case import pooled, rows_of
from .repeats import folder

NOT_MEASURED = "this case was not measured. Next: run snakemake again"
ADD_CASE = "list a workload that makes it in config.yaml (the ruler among them) and run snakemake again"
FORMAT = 1  # 1: first
POOLED = "agreement"
OF_FILES = ("export", "freshness")  # which hold the ranks of a group together
SHARED = ("numerics.json", "dataflow.json")  # of the case, not of a repeat
WORST_FIRST = (FAIL, UNKNOWN, PASS, NOT_APPLICABLE)


def examine(plan: Plan, case: CaseEvidence, rows: list[dict]) -> dict[str, Outcome]:
    """What every check says of one case.

    With repeats, each is examined as a capture of its own, by its own rows; ``agreement`` weighs them all.  So is
    each rank of a group, but for what the files hold as a whole.
    """
    if not any(part.records or part.hashes for part in case.repeats):
        return {name: unmeasured(check(plan, case, rows)) for name, check in CHECKS.items()}
    if case.members:
        return of_group(plan, case, rows)
    if not case.further:
        return {name: check(plan, case, rows) for name, check in CHECKS.items()}
    each = [(repeat, rows_of(plan, repeat)) for repeat in case.repeats]
    found = {
        name: merged([(part, check(plan, part, own)) for part, own in each]) for name, check in CHECKS.items()
    }
    return found | {POOLED: CHECKS[POOLED](plan, pooled(plan, case), rows)}


def unmeasured(outcome: Outcome) -> Outcome:
    """The outcome of a case that left nothing at all: one sentence instead of each file that is missing."""
    return (
        outcome if outcome.status == NOT_APPLICABLE else Outcome(UNKNOWN, NOT_MEASURED, limit=outcome.limit)
    )


def of_group(plan: Plan, case: CaseEvidence, rows: list[dict]) -> dict[str, Outcome]:
    """What every check says of all ranks together: the worst of them, and what is wrong between them."""
    alone = replace(case, members=())
    each = [(part, examine(plan, part, [r for r in rows if r["rank"] == part.rank])) for part in case.members]
    whole = examine(plan, alone, [r for r in rows if r["rank"] == 0])
    between = between_ranks(case)
    found = {}
    for name in CHECKS:
        outcomes = [(f"rank {part.rank}", examined[name]) for part, examined in each]
        combined = whole[name] if name in OF_FILES else together(outcomes)
        found[name] = worsened(combined, between.get(name, []))
    return found


def together(outcomes: Sequence[tuple[str, Outcome]]) -> Outcome:
    """The worst of several outcomes, with the reason of each that is as bad."""
    status = worst([o for _, o in outcomes])
    bad = [(who, o) for who, o in outcomes if o.status == status]
    spoils = [o.spoils for _, o in bad]
    same = len({o.reason for _, o in bad}) == 1 and len(bad) == len(outcomes)
    return Outcome(
        status,
        bad[0][1].reason if same else "; ".join(f"{who}: {o.reason}" for who, o in bad if o.reason),
        "; ".join(f"{who}: {o.measured}" for who, o in outcomes if o.measured is not None) or None,
        outcomes[0][1].limit,
        tuple(dict.fromkeys(file for _, o in outcomes for file in o.evidence)),
        None if None in spoils else frozenset().union(*spoils),
    )


def worsened(outcome: Outcome, wrong: Sequence[str]) -> Outcome:
    """The outcome with faults that no rank has alone."""
    if not wrong:
        return outcome
    told = outcome.reason if outcome.status == FAIL else ""
    return replace(outcome, status=FAIL, reason="; ".join(filter(None, [*wrong, told])), spoils=None)


def merged(outcomes: Sequence[tuple[CaseEvidence, Outcome]]) -> Outcome:
    """What a check says of all repeats: the worst of them, each repeat's reason under its number."""
    status = worst([outcome for _, outcome in outcomes])
    bad = [(part, outcome) for part, outcome in outcomes if outcome.status == status]
    spoils = [o.spoils for _, o in bad]
    return Outcome(
        status,
        "; ".join(f"repeat {part.repeat}: {o.reason}" for part, o in bad if o.reason)
        if len({o.reason for _, o in bad}) > 1 or len(bad) < len(outcomes)
        else bad[0][1].reason,
        "; ".join(dict.fromkeys(str(o.measured) for _, o in outcomes if o.measured is not None)) or None,
        outcomes[0][1].limit,
        tuple(f if f in SHARED else f"{folder(part.repeat)}{f}" for part, o in outcomes for f in o.evidence),
        None if None in spoils else frozenset().union(*spoils),
    )


def judge(plan: Plan, cases: Sequence[tuple[CaseEvidence, dict[str, Outcome]]]) -> dict:
    """verdict.json of a run: "verified", "refuted" (a check failed) or "unverifiable" (one could not be made)."""
    checks = [combined(name, plan, cases) for name in CHECKS]
    statuses = [check["status"] for check in checks]
    verdict = (
        "refuted" if FAIL in statuses else "unverifiable" if UNKNOWN in statuses or not cases else "verified"
    )
    return {
        "format": FORMAT,
        "verdict": verdict,
        "device": plan.device,
        "gpus": gpus([case for case, _ in cases]),
        **({"excerpt": dict(plan.excerpt)} if plan.excerpt else {}),
        "checks": checks,
    }


def gpus(cases: Sequence[CaseEvidence]) -> dict[str, list[str]]:
    """Case -> models of the GPUs that its passes ran on: one, or `sameness` fails."""
    found = {}
    for case in cases:
        records = [record for repeat in case.repeats for record in repeat.records.values()]
        names = {(record.get("gpu") or {}).get("name") for record in records}
        found[case.plan.label] = sorted(filter(None, names))
    return found


def combined(name: str, plan: Plan, cases: Sequence[tuple[CaseEvidence, dict[str, Outcome]]]) -> dict:
    """One check over all cases: the worst of them decides, and each that is not good is named."""
    outcomes = [(case, outcomes[name]) for case, outcomes in cases]
    status = worst([o for _, o in outcomes])
    reasons = [f"{case.plan.label}: {o.reason}" for case, o in outcomes if o.reason and o.status == status]
    if plan.device == "cuda" and status == NOT_APPLICABLE:
        status, reasons = UNKNOWN, [f"no case of this run makes the check {name}. Next: {ADD_CASE}"]
    return {
        "id": name,
        "status": status,
        "measured": {case.plan.label: o.measured for case, o in outcomes if o.measured is not None} or None,
        "limit": next((o.limit for _, o in outcomes if o.limit is not None), None),
        "reason": "; ".join(dict.fromkeys(reasons)) or None,
        "evidence": sorted(
            {normpath(f"{case.plan.label}/{file}") for case, o in outcomes for file in o.evidence}
        ),
    }


def worst(outcomes: Sequence[Outcome]) -> str:
    found = {o.status for o in outcomes}
    return next((status for status in WORST_FIRST if status in found), UNKNOWN)
