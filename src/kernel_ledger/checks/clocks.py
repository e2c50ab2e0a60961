"""clocks: no throttle reason was active, and no other process computed on the GPU."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

from ..capture import CaseEvidence
from ..nvml import HARMFUL, REASONS
from ..plan_file import Plan
from .outcome import AGAIN, CPU, NOT_APPLICABLE, Outcome, Parts, missing_records

CONTEXT_MIB = 150.0
NOT_TOLD = "not_told"
KNOWN = {*REASONS.values(), NOT_TOLD, "gpu_idle"}
SLOWER = 0.1  # share by which the clock of a pass may lie below the others'
POWER_CAP = "sw_power_cap"
NEXT = f"wait until the GPU is cool and alone (nvidia-smi), then {AGAIN}"


def check(plan: Plan, case: CaseEvidence, rows: list[dict]) -> Outcome:
    if case.device == "cpu":
        return Outcome(NOT_APPLICABLE, CPU)
    parts = Parts(gaps=list(missing_records(case)), next_step=NEXT)
    slowest = []
    for name, record in case.records.items():
        judge(parts, name, record)
        slowest += [s["sm_mhz"] for s in samples(record) if s.get("sm_mhz")]
    parts.wrong += slower_passes(case)
    measured = f"SM clock {min(slowest)} to {max(slowest)} MHz" if slowest else None
    capped = sorted(
        n for n, r in case.records.items() if any(POWER_CAP in s["throttle_reasons"] for s in samples(r))
    )
    if capped:
        measured = "; ".join(filter(None, [measured, f"{POWER_CAP} noted in {', '.join(capped)}"]))
    return parts.outcome(measured, "no throttle reason of: " + ", ".join(sorted(HARMFUL)))


def samples(record: dict[str, Any]) -> list[dict[str, Any]]:
    nvml = record.get("nvml") or {}
    return [s for s in [nvml.get("before"), *nvml.get("samples", []), nvml.get("after")] if s]


def busy_clock(record: dict[str, Any]) -> float | None:
    """Median SM clock in MHz while the GPU was busy, None where it was never seen so."""
    nvml = record.get("nvml") or {}
    if nvml.get("sampling", {}).get("busy_count") == 0:
        return None
    taken = [s for s in nvml.get("samples", ()) if s and s.get("sm_mhz")]
    clocks = [s["sm_mhz"] for s in taken if s.get("statistic", "median") == "median"]
    return median(clocks) if clocks else None


def slower_passes(case: CaseEvidence) -> Iterator[str]:
    """Passes at a clearly lower clock than the others, whose durations cannot be compared with theirs."""
    clocks = {name: clock for name, record in case.records.items() if (clock := busy_clock(record))}
    for name, clock in clocks.items():
        others = [other for key, other in clocks.items() if key != name]
        if others and clock < (1 - SLOWER) * median(others):
            yield (
                f"{name}: its median SM clock was {clock:g} MHz, more than {SLOWER:.0%} below the"
                f" {median(others):g} MHz of the other passes"
            )


def judge(parts: Parts, name: str, record: dict[str, Any]) -> None:
    """One pass: its samples of the GPU before, during and after."""
    nvml = record.get("nvml")
    if not nvml:
        reason = record.get("nvml_reason") or "no reason recorded"
        parts.gaps.append(f"{name}: NVML was not sampled ({reason})")
        return
    parts.gaps += [f"{name}: {gap}" for gap in gaps(nvml)]
    seen = samples(record)
    throttled = sorted({reason for s in seen for reason in s["throttle_reasons"] if reason in HARMFUL})
    if throttled:
        parts.wrong.append(f"{name}: the GPU was throttled ({', '.join(throttled)})")
    unheard = sorted({reason for s in seen for reason in s["throttle_reasons"]} - KNOWN)
    if unheard:
        parts.gaps.append(
            f"{name}: NVML gave a throttle reason that is not known here ({', '.join(unheard)})"
        )
    others = {(p["pid"], p["name"]) for s in seen for p in s.get("processes") or ()} | strangers(nvml)
    if others:
        listed = ", ".join(f"{label} (pid {pid})" for pid, label in sorted(others, key=str))
        parts.wrong.append(f"{name}: other processes computed on the GPU: {listed}")
    elif nvml.get("company", {}).get("most_at_once", 0) > 1 and not nvml["company"]["own_seen"]:
        count = nvml["company"]["most_at_once"]
        parts.wrong.append(
            f"{name}: {count} processes computed on the GPU at once, one of them the measured one"
        )


def gaps(nvml: dict[str, Any]) -> Iterator[str]:
    """What NVML did not tell, without which a healthy look of the rest says nothing."""
    for when in ("before", "after"):
        look = nvml.get(when) or {}
        if not look or look.get("failure"):
            yield f"NVML did not tell the state of the GPU {when} it ({look.get('failure') or 'not recorded'})"
        elif look["processes"] is None:
            yield f"NVML did not tell which processes were on the GPU {when} it"
    sampling = nvml.get("sampling", {})
    if sampling.get("failure"):
        yield f"NVML stopped telling while it ran ({sampling['failure']})"
    if not nvml.get("samples") or sampling.get("count") == 0:
        yield "the GPU was not sampled while it ran"
    if any(NOT_TOLD in s["throttle_reasons"] for s in [*nvml.get("samples", []), *looks(nvml)]):
        yield "NVML did not tell the throttle reasons"
    if "company" in nvml:
        yield from gaps_of_company(nvml)


def gaps_of_company(nvml: dict[str, Any]) -> Iterator[str]:
    """In a container the list of processes can be empty whoever computes: memory in use then tells at least
    whether someone was there before and after, since no CUDA context needs less than this."""
    company = nvml["company"]
    if company["untold"]:
        yield "NVML did not tell which processes were on the GPU while it ran"
    elif not company["own_seen"] and not company["most_at_once"]:
        used = [look.get("memory_used_mib") for look in looks(nvml)]
        if None in used or max(used, default=0) >= CONTEXT_MIB:
            held = (
                f"{max(used):.0f} MiB of the GPU were in use" if None not in used else "nor the memory in use"
            )
            yield f"NVML lists no process here, not even the measured one; {held}, so others cannot be excluded"


def looks(nvml: dict[str, Any]) -> list[dict[str, Any]]:
    return [look for look in (nvml.get("before"), nvml.get("after")) if look and not look.get("failure")]


def strangers(nvml: dict[str, Any]) -> set[tuple[int, str | None]]:
    """Processes that came while the pass ran; told from the measured one only where that one was seen."""
    company = nvml.get("company", {})
    return {(p["pid"], p["name"]) for p in company["others"]} if company.get("own_seen") else set()
