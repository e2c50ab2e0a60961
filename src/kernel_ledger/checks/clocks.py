"""clocks: no throttle reason was active, and no other process computed on the GPU."""

from __future__ import annotations

from typing import Any

from ..capture import CaseEvidence
from ..nvml import HARMFUL
from ..plan_file import Plan
from .outcome import CPU, NOT_APPLICABLE, Outcome, Parts, missing_records

NEXT = "wait until the GPU is cool and alone (nvidia-smi), remove this case's captures, run snakemake again"


def check(plan: Plan, case: CaseEvidence, rows: list[dict]) -> Outcome:
    if case.device == "cpu":
        return Outcome(NOT_APPLICABLE, CPU)
    parts = Parts(gaps=list(missing_records(case)), next_step=NEXT)
    slowest = []
    for name, record in case.records.items():
        judge(parts, name, record)
        slowest += [s["sm_mhz"] for s in samples(record) if s.get("sm_mhz")]
    measured = f"SM clock {min(slowest)} to {max(slowest)} MHz" if slowest else None
    return parts.outcome(measured, "no throttle reason of: " + ", ".join(sorted(HARMFUL)))


def samples(record: dict[str, Any]) -> list[dict[str, Any]]:
    nvml = record.get("nvml") or {}
    return [s for s in [nvml.get("before"), *nvml.get("samples", []), nvml.get("after")] if s]


def judge(parts: Parts, name: str, record: dict[str, Any]) -> None:
    """One pass: its samples of the GPU before, during and after."""
    seen = samples(record)
    if len(seen) < 2:
        parts.gaps.append(
            f"{name}: NVML was not sampled ({record.get('nvml_reason') or 'no reason recorded'})"
        )
        return
    throttled = sorted({reason for s in seen for reason in s["throttle_reasons"] if reason in HARMFUL})
    if throttled:
        parts.wrong.append(f"{name}: the GPU was throttled ({', '.join(throttled)})")
    others = sorted({f"{p['name']} (pid {p['pid']})" for s in seen for p in s.get("processes") or ()})
    if others:
        parts.wrong.append(f"{name}: other processes computed on the GPU: {', '.join(others)}")
