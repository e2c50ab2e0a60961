"""identity: every kernel of one book has exactly one partner in the other."""

from __future__ import annotations

from ..capture import CaseEvidence
from ..plan_file import Plan
from ..reconcile.rows import missing_books
from .outcome import CPU, NOT_APPLICABLE, Outcome, Parts, place, shorten

NEXT = "look the kernels up in both files; where heuristics chose differently, pin them; then measure again"


def check(plan: Plan, case: CaseEvidence, rows: list[dict]) -> Outcome:
    if case.device == "cpu":
        return Outcome(NOT_APPLICABLE, CPU)
    parts = Parts(next_step=NEXT)
    for variant in case.plan.variants:
        parts.gaps += [f"{variant}: {text}" for text in missing_books(case, variant).values()]
    operations = [r for r in rows if r["level"] in ("kernel", "memory")]
    alone = [
        f"{place(r)}: {r['name']} is {r['status']}"
        for r in operations
        if r["status"] in ("torch_only", "nsys_only")
    ]
    parts.wrong += shorten(alone)
    if not operations and not parts.gaps:
        parts.wrong.append("neither book has a single GPU operation")
    matched = sum(r["torch_count"] is not None and r["nsys_count"] is not None for r in operations) - len(
        alone
    )
    return parts.outcome(f"{matched} of {len(operations)} matched", "all")
