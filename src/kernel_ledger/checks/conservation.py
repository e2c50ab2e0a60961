"""conservation: launches expected by the program = counted by torch = counted by nsys."""

from __future__ import annotations

from ..capture import CaseEvidence
from ..plan_file import Plan
from ..reconcile.balance import compare_counts
from ..reconcile.rows import missing_books
from .outcome import Outcome, Parts, findings, missing_records, shorten


def check(plan: Plan, case: CaseEvidence, rows: list[dict]) -> Outcome:
    parts = Parts(wrong=findings(case, "conservation"), gaps=list(missing_records(case)))
    for variant in case.plan.variants:
        parts.gaps += [f"{variant}: {text}" for text in missing_books(case, variant)]
    wrong = [f"{row['level']} {row['name']}: {text}" for row in rows for text in miscounted(case, row)]
    parts.wrong += shorten(wrong)
    for name, book in books(case):
        if book.launches_without_kernel:
            parts.wrong.append(
                f"{name}: {book.launches_without_kernel} kernel launches left no kernel record"
            )
    counted = [r for r in rows if r["level"] in ("kernel", "memory")]
    counted = [r for r in counted if r["nsys_count"]]
    measured = f"{len(counted)} kinds of GPU operation, {sum(r['nsys_count'] or 0 for r in counted)} launches in nsys"
    parts.evidence += [f"torch/{v}/trace.json.gz" for v in case.plan.variants] + ["nsys/report.sqlite"]
    return parts.outcome(measured, "program = torch = nsys")


def books(case: CaseEvidence) -> list[tuple[str, object]]:
    named = [(f"torch/{v}", book) for v, book in case.torch.items()]
    return [*named, ("nsys", case.nsys)] if case.nsys else named


def miscounted(case: CaseEvidence, row: dict) -> list[str]:
    """What is wrong with the counts of a row that both books can speak of."""
    if row["level"] == "operator" or row["torch_count"] is None or row["nsys_count"] is None:
        return []
    if not row["variant"]:
        return ["launched outside every announced range"]
    iterations = 0 if row["level"] == "range" else row["iterations"]
    return compare_counts(row["torch_count"], row["nsys_count"], row["expected_count"], iterations)
