"""numerics: every variant is within rtol and atol of the first; and all passes computed the same bytes."""

from __future__ import annotations

from ..capture import CaseEvidence
from ..plan_file import Plan
from .outcome import Outcome, Parts, findings


def check(plan: Plan, case: CaseEvidence, rows: list[dict]) -> Outcome:
    parts = Parts(gaps=findings(case, "numerics"), evidence=["numerics.json"])
    found = (case.numerics or {}).get("variants", {})
    for variant in case.plan.compared() if case.numerics else ():
        if variant not in found:
            parts.gaps.append(f"{variant} was not compared")
        elif not found[variant]["agrees"]:
            parts.wrong.append(
                f"{variant} disagrees with {case.plan.compared()[0]}: {disagreement(found[variant])}"
            )
    if case.numerics and not (
        case.numerics["rtol"] == plan.limits.rtol and case.numerics["atol"] == plan.limits.atol
    ):
        parts.wrong.append(
            "numerics.json was made with other tolerances than the plan's; run the numerics pass again"
        )
    parts.wrong += different_outputs(case)
    errors = {v: found[v].get("error_l2") for v in found if found[v].get("error_l2") is not None}
    measured = (
        "relative error against float64: " + ", ".join(f"{v} {e:.2e}" for v, e in errors.items())
        if errors
        else None
    )
    return parts.outcome(measured, f"rtol {plan.limits.rtol:g}, atol {plan.limits.atol:g}")


def disagreement(entry: dict) -> str:
    first = entry.get("first_disagreement")
    if not first:
        return entry.get("reason") or "no index recorded"
    return f"at index {first['index']} it has {first['value']}, expected {first['expected']}"


def different_outputs(case: CaseEvidence) -> list[str]:
    """Variants whose output bytes were not the same in all passes that ran them."""
    wrong = []
    numeric = (case.numerics or {}).get("variants", {})
    for variant in case.plan.compared():
        seen = {"numerics": numeric[variant]["sha256"]} if variant in numeric else {}
        for name, record in case.records.items():
            if variant in record.get("output_sha256", {}):
                seen[name] = record["output_sha256"][variant]
        if len(set(seen.values())) > 1:
            wrong.append(
                f"{variant} gave different bytes: " + ", ".join(f"{n} {str(h)[:12]}" for n, h in seen.items())
            )
    return wrong
