"""subscriber: the clean passes had no other CUPTI subscriber, the nsys pass had exactly nsys.

cuptiSubscribe answers 0 where nobody else subscribed and 39 where somebody has (measured under nsys -t cuda).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..capture import CaseEvidence
from ..plan_file import CONTROL, Plan
from .outcome import CPU, NOT_APPLICABLE, Outcome, Parts, findings, missing_records

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
    if plan.collision_control and case.repeat == 1:
        judge_control(parts, case)
    return parts.outcome(measured_control(case), limit="cuptiSubscribe: 0 in clean passes, 39 under nsys")


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


def judge_control(parts: Parts, case: CaseEvidence) -> None:
    """The torch pass that was run under nsys on purpose: had it not noticed, the clean passes would not have either."""
    parts.evidence.append(f"../../{CONTROL}")
    parts.gaps += findings(case, CONTROL)
    if case.control is None:
        return
    detected, reason = case.control.get("detected"), case.control.get("reason") or "no reason recorded"
    if detected is False:
        text = f"the collision control: {reason}; so the clean passes of this run need not have been alone"
        parts.wrong.append(text)
    elif detected is not True:
        parts.gaps.append(f"the collision control: {reason}; see what it said in {CONTROL}")
    else:
        parts.gaps += elsewhere(case)


def elsewhere(case: CaseEvidence) -> list[str]:
    """How the control differs from the nsys pass for which it speaks.

    Not by the GPU: whether a collision is noticed depends on nsys, CUPTI and the driver, and one control speaks for
    the cases that other GPUs of the machine measured.
    """
    recorded, wrong = case.records.get("nsys"), []
    for what, key in ("versions", "nsys"), ("versions", "driver"):
        if recorded is None or recorded.get(what) is None:
            continue
        ours, theirs = ((record.get(what) or {}).get(key) for record in (case.control, recorded))
        if ours != theirs:
            wrong.append(f"the collision control was made with {key} {ours}, the nsys pass with {theirs}")
    return wrong


def measured_control(case: CaseEvidence) -> str | None:
    """By what the control noticed nsys."""
    by = (case.control or {}).get("detected_by")
    return f"the collision control noticed nsys by {' and '.join(by)}" if by else None
