"""agreement: matched durations agree within the tolerance, which grows for short kernels."""

from __future__ import annotations

from ..capture import CaseEvidence
from ..plan_file import Plan
from .outcome import CPU, NOT_APPLICABLE, Outcome, Parts, shorten

NEXT = "see the row's reason and the check clocks; measure again with the GPU alone and its clocks steady"


def check(plan: Plan, case: CaseEvidence, rows: list[dict]) -> Outcome:
    if case.device == "cpu":
        return Outcome(NOT_APPLICABLE, CPU)
    parts, differences = Parts(next_step=NEXT), []
    far = []
    for row in rows:
        if row["level"] not in ("kernel", "memory"):
            continue
        if row["difference_pct"] is None:
            parts.gaps.append(f"{row['variant']}: {row['name']} has no two durations to compare")
            continue
        differences.append(abs(row["difference_pct"]))
        if differences[-1] > row["tolerance_pct"]:
            text = f"differs by {row['difference_pct']} %, more than {row['tolerance_pct']} %"
            far.append(f"{row['variant']}: {row['name']} {text}")
    parts.wrong, parts.gaps = shorten(far), shorten(parts.gaps)
    if not differences and not parts.gaps:
        parts.gaps.append("there is no matched kernel")
    measured = f"at most {max(differences)} % over {len(differences)} kinds" if differences else None
    limits = plan.limits
    limit = f"{limits.agreement_pct} % (+{limits.short_kernel_extra_ns} ns under {limits.short_kernel_ns} ns)"
    return parts.outcome(measured, limit)
