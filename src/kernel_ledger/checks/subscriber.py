"""subscriber: the clean passes had no other CUPTI subscriber, the nsys pass had exactly nsys.

cuptiSubscribe answers 0 where nobody else subscribed and 39 where somebody has (measured under nsys -t cuda).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..capture import CaseEvidence
from ..plan_file import Plan
from .outcome import CPU, NOT_APPLICABLE, Outcome, Parts, missing_records

FREE, TAKEN, NO_PERMISSION = 0, 39, 35
NEXT = "run snakemake outside nsys, ncu and other profilers, with no injection variable set"
PERMISSION = (
    "CUPTI refused for want of privileges (cuptiSubscribe gave 35); load the nvidia module with"
    " NVreg_RestrictProfilingToAdminUsers=0, or ask the administrator"
)


def check(plan: Plan, case: CaseEvidence, rows: list[dict]) -> Outcome:
    if case.device == "cpu":
        return Outcome(NOT_APPLICABLE, CPU)
    parts = Parts(gaps=list(missing_records(case)), next_step=NEXT)
    if case.numerics is not None:
        judge(parts, "numerics", case.numerics.get("run", {}), clean=True)
    for name, record in case.records.items():
        judge(parts, name, record, clean=name != "nsys")
        parts.evidence.append("run.json" if name == "timing" else f"{name}/run.json")
    return parts.outcome(limit="cuptiSubscribe: 0 in clean passes, 39 under nsys")


def judge(parts: Parts, name: str, record: Mapping[str, Any], clean: bool) -> None:
    """One pass: what its probe found before it measured."""
    probe = record.get("probe") or {}
    result, injected = probe.get("result"), probe.get("injection") or []
    if result is None:
        parts.gaps.append(f"{name}: CUPTI was not probed ({probe.get('reason') or 'no reason recorded'})")
    elif result == NO_PERMISSION:
        parts.gaps.append(f"{name}: {PERMISSION}")
    elif clean and result == TAKEN:
        parts.wrong.append(f"{name}: another CUPTI subscriber was there (cuptiSubscribe gave {result})")
    elif clean and injected:
        parts.wrong.append(f"{name}: injection variables of a profiler were set: {', '.join(injected)}")
    elif not clean and result == FREE and probe.get("regime") != "multi":
        parts.wrong.append(f"{name}: nsys had not subscribed to CUPTI; its kernel records cannot be trusted")
    elif result not in (FREE, TAKEN):
        parts.gaps.append(f"{name}: cuptiSubscribe gave {result}, which is neither free (0) nor taken (39)")
