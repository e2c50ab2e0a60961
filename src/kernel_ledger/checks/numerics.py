"""numerics: every variant is within rtol and atol of the first; and all passes computed the same bytes.

A variant whose atomics forbid equal bytes states how far its outputs may be apart (``output_rtol``).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..capture import CaseEvidence
from ..plan_file import Plan
from .outcome import Outcome, Parts, findings

NEXT = "mend the variant (or its atomics: the sum's order changes the bytes), then run snakemake again"
TF32 = (True, "tf32", "high", "medium")


def check(plan: Plan, case: CaseEvidence, rows: list[dict]) -> Outcome:
    parts = Parts(gaps=findings(case, "numerics"), evidence=["numerics.json"], next_step=NEXT)
    found = (case.numerics or {}).get("variants", {})
    compared = case.plan.compared()
    for variant in compared if case.numerics else ():
        if variant not in found:
            parts.gaps.append(f"{variant} was not compared")
        elif text := disagreement(found[variant], found.get(compared[0], found[variant])):
            parts.wrong.append(f"{variant} disagrees with {compared[0]}: {text}")
    parts.wrong += inexact(case)
    parts.gaps += unstated(case)
    rtol, atol = case.plan.limits(plan.limits)
    if case.numerics and (case.numerics["rtol"], case.numerics["atol"]) != (rtol, atol):
        parts.wrong.append(
            "numerics.json was made with other tolerances than the plan's; run the numerics pass again"
        )
    parts.wrong += different_outputs(case)
    clamped = {v: [found[v].get(side) for side in ("clamped_low", "clamped_high")] for v in found}
    errors = {v: found[v].get("error_l2") for v in found if found[v].get("error_l2") is not None}
    measured = (
        "relative error against float64: " + ", ".join(f"{v} {e:.2e}" for v, e in errors.items())
        if errors
        else None
    )
    limits = [f"{v} {low} low, {high} high" for v, (low, high) in clamped.items() if low is not None]
    measured = "; clamped: ".join(filter(None, [measured, ", ".join(limits)])) or None
    return parts.outcome(measured, f"rtol {rtol:g}, atol {atol:g}")


def disagreement(entry: dict, baseline: dict) -> str | None:
    """What of a variant's output is not as the baseline's, or None; the pass's own "agrees" is not enough."""
    for what in ("shape", "dtype"):
        if entry.get(what) != baseline.get(what):
            return f"its {what} is {entry.get(what)}, expected {baseline.get(what)}"
    first = entry.get("first_disagreement")
    if first:
        return f"at index {first['index']} it has {first['value']}, expected {first['expected']}"
    if entry["nan_count"]:
        return f"{entry['nan_count']} of its elements are NaN"
    return None if entry["agrees"] else entry.get("reason") or "no index recorded"


def inexact(case: CaseEvidence) -> list[str]:
    """Passes in which TF32 was on: their float32 products have ten bits."""
    stated = {name: record.get("tf32") or {} for name, record in case.records.items()}
    stated["numerics"] = ((case.numerics or {}).get("run") or {}).get("tf32") or {}
    if (case.numerics or {}).get("tf32"):
        stated["numerics"] = {"tf32": True}
    on = sorted(name for name, state in stated.items() if any(value in TF32 for value in state.values()))
    return [f"TF32 was on in {', '.join(on)}; a workload must not switch it on"] if on else []


def unstated(case: CaseEvidence) -> Iterator[str]:
    """What passes did not state of TF32 and of the outputs of the variants that are compared."""
    records = {name: record for name, record in case.records.items() if "absent" not in record}
    numeric = (case.numerics or {}).get("variants", {})
    if case.device == "cuda":
        runs = records | ({"numerics": case.numerics.get("run") or {}} if case.numerics else {})
        if silent := sorted(name for name, record in runs.items() if not record.get("tf32")):
            yield f"{', '.join(silent)} did not state whether TF32 was on"
    for variant in case.plan.compared():
        ran = {name: outputs(record) for name, record in records.items() if variant in record["variants"]}
        entry = numeric.get(variant, {})
        if not (
            entry.get("shape") or entry.get("sha256") or any(found.get(variant) for found in ran.values())
        ):
            continue  # it has no output
        silent = [name for name, found in ran.items() if not found.get(variant)]
        silent += ["numerics"] if variant in numeric and not entry.get("sha256") else []
        if silent:
            yield f"the SHA-256 of {variant}'s output is missing in {', '.join(silent)}"


def outputs(record: dict) -> dict:
    """What stands for each variant's output in a record: its SHA-256, or its norms where it may vary."""
    return (record.get("output_norms") or {}) | (record.get("output_sha256") or {})


def far_norms(case: CaseEvidence, variant: str, rtol: float) -> list[str]:
    """What of a variant with a stated tolerance differs by more than it between two passes, from their norms."""
    records = {"numerics": (case.numerics or {}).get("run", {}), **case.records}
    norms = {
        n: r["output_norms"][variant] for n, r in records.items() if variant in r.get("output_norms", {})
    }
    unstated = [n for n, r in records.items() if variant in r.get("output_sha256", {}) and n not in norms]
    if unstated or not norms:
        return [
            f"{variant} states a tolerance for its output; {', '.join(unstated) or 'no pass'} recorded no norms"
        ]
    (first, wanted), *others = norms.items()
    return [
        f"{variant} gave another output in {name} than in {first}: {key} is {found[key]!r}, not {wanted[key]!r},"
        f" more than rtol {rtol:g} apart"
        for name, found in others
        for key in wanted
        if not abs(found[key] - wanted[key])
        <= rtol * wanted["l2" if key == "l2" else "l1"]  # NaN is far from all
    ]


def different_outputs(case: CaseEvidence) -> list[str]:
    """Variants whose output bytes were not the same in all passes that ran them."""
    wrong = []
    numeric = (case.numerics or {}).get("variants", {})
    for variant in case.plan.variants:
        if variant in case.plan.output_rtol:
            wrong += far_norms(case, variant, case.plan.output_rtol[variant])
            continue
        seen = {"numerics": numeric[variant].get("sha256")} if variant in numeric else {}
        for name, record in case.records.items():
            if variant in record.get("output_sha256", {}):
                seen[name] = record["output_sha256"][variant]
        if len(set(seen.values())) > 1:
            distinct = {digest: name for name, digest in reversed(seen.items())}
            told = ", ".join(f"{n} {str(h)[:12]}" for h, n in sorted(distinct.items(), key=str))
            wrong.append(f"{variant} gave different bytes: {told}")
    return wrong
