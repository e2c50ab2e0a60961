"""agreement: matched durations agree within the tolerance, which grows for short kernels."""

from __future__ import annotations

from ..capture import CaseEvidence
from ..plan_file import Plan
from ..reconcile.balance import WIDEST_PCT, odd_repeats
from .clocks import samples
from .outcome import CPU, NOT_APPLICABLE, Outcome, Parts, place, shorten

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
            parts.gaps.append(f"{place(row)}: {row['name']} has no two durations to compare")
            continue
        differences.append(abs(row["difference_pct"]))
        if differences[-1] > row["tolerance_pct"]:
            text = f"differs by {row['difference_pct']} %, more than {row['tolerance_pct']} %"
            far.append(f"{place(row)}: {row['name']} {text}")
        far += [f"{place(row)}: {row['name']} {text}" for text in odd(case, row)]
    chosen = list(case.pooled.choices.values()) if case.pooled else []
    causes = unequal_power(case) if far else []
    parts.wrong, parts.gaps = [*shorten(far), *shorten(chosen), *causes], shorten(parts.gaps)
    if not differences and not parts.gaps:
        parts.gaps.append("there is no matched kernel")
    measured = f"at most {max(differences)} % over {len(differences)} kinds" if differences else None
    limits = plan.limits
    limit = f"{limits.agreement_pct} % (+{limits.short_kernel_extra_ns} ns under {limits.short_kernel_ns} ns)"
    if (case.plan.world_size or 1) > 1:
        limit += f", {limits.communication_pct:g} % where ranks wait for each other"
    if case.pooled:
        limit += f", up to {WIDEST_PCT:g} % where {len(case.pooled.repeats)} repeats spread so far"
    return parts.outcome(measured, limit)


def unequal_power(case: CaseEvidence) -> list[str]:
    """Where the GPU met its power cap in some passes alone, whose clocks were then lower than the others'."""
    reasons = {
        name: {reason for sample in samples(record) for reason in sample.get("throttle_reasons") or ()}
        for name, record in case.records.items()
    }
    capped = sorted(name for name, seen in reasons.items() if "sw_power_cap" in seen)
    if not capped or len(capped) == len(reasons):
        return []
    return [f"the GPU met its power cap in {', '.join(capped)} alone, so its clocks were lower there"]


def odd(case: CaseEvidence, row: dict) -> list[str]:
    """Repeats that are too far off on their own."""
    key = (row["variant"], row["level"], row["name"])
    return odd_repeats(case.pooled.differences.get(key, ()), row["tolerance_pct"]) if case.pooled else []
