"""sameness: GPU, driver, torch, workload source, seed and shapes are the same in all passes of a case."""

from __future__ import annotations

import json
from typing import Any

from ..capture import CaseEvidence
from ..gpu_choice import is_model
from ..plan_file import Plan
from .outcome import AGAIN, Outcome, Parts, missing_records

VERSIONS = ("python", "torch", "cuda", "cudnn", "driver", "kernel_ledger")
TOOLS = ("triton", "nvcc", "cupti")  # not every pass has them
RANGES = ("torch", "nsys")  # passes that announce each call to a profiler
STOPPED = 143  # of nsys, which ends its target by SIGTERM
KEYS = (
    "workload",
    "case",
    "parameters",
    "device",
    "seed",
    "iterations",
    "warmup",
    "workload_sha256",
    "library_sha256",
)
NEXT = f"measure all passes of a case in one go, on one machine: {AGAIN}"


def check(plan: Plan, case: CaseEvidence, rows: list[dict]) -> Outcome:
    parts = Parts(gaps=list(missing_records(case)), next_step=NEXT)
    records = {name: record for name, record in case.records.items() if "absent" not in record}
    if case.numerics is not None:
        records["numerics"] = case.numerics.get("run", {})
    for name, record in records.items():
        parts.wrong += contradicted(name, record, plan, case)
        if record.get("device") == "cuda" and not (record.get("gpu") or {}).get("name"):
            parts.gaps.append(f"{name} does not say which GPU it ran on")
    described = {name: describe(record) for name, record in records.items()}
    for key in sorted({key for values in described.values() for key in values}):
        compare(parts, key, {name: values.get(key) for name, values in described.items()})
    for key in TOOLS:
        found = {name: (record.get("versions") or {}).get(key) for name, record in records.items()}
        compare(parts, f"versions.{key}", {name: json.dumps(v) for name, v in found.items() if v is not None})
    for key, value in planned(plan, case).items():
        compare(parts, key, {"plan": value, **{name: values.get(key) for name, values in described.items()}})
    if asked := case.plan.gpu_model:
        for name, record in records.items():
            found = (record.get("gpu") or {}).get("name")
            if not is_model(asked, found):
                parts.wrong.append(f"gpu_model: {asked} was asked for, {name} ran on {found or 'no GPU'}")
    parts.evidence += ["run.json" if name == "timing" else f"{name}/run.json" for name in case.records]
    return parts.outcome(f"{len(records)} passes", "identical")


def describe(record: dict[str, Any]) -> dict[str, str]:
    """What must be the same, flattened to text."""
    values = {key: record.get(key) for key in KEYS}
    values |= {f"versions.{key}": record.get("versions", {}).get(key) for key in VERSIONS}
    values |= {f"gpu.{key}": (record.get("gpu") or {}).get(key) for key in ("name", "uuid")}
    return {key: json.dumps(value, sort_keys=True) for key, value in values.items()}


def contradicted(name: str, record: dict[str, Any], plan: Plan, case: CaseEvidence) -> list[str]:
    """What a record says of its own run that no run by this plan could have."""
    wrong, status = [], record.get("exit_status")
    if status != 0 and not (name == "nsys" and status == STOPPED):
        wrong.append(f"exit_status: {name} ended with {status}, expected 0")
    variants = [name.split("/", 1)[1]] if "/" in name else case.plan.variants
    wanted = {case.plan.range_name(v): plan.iterations for v in variants}
    if name.split("/")[0] in RANGES and (found := record.get("announced")) != wanted:
        wrong.append(f"announced: {name} says {found}, the plan {wanted}")
    return wrong


def planned(plan: Plan, case: CaseEvidence) -> dict[str, str]:
    """What the plan said of it."""
    values = {
        "device": plan.device,
        "seed": plan.seed,
        "iterations": plan.iterations,
        "parameters": dict(case.plan.parameters),
        "workload_sha256": case.plan.source_sha256,
    }
    return {key: json.dumps(value, sort_keys=True) for key, value in values.items()}


def compare(parts: Parts, key: str, values: dict[str, str | None]) -> None:
    """Refuse a key that two passes disagree on, naming both values."""
    distinct: dict[str | None, str] = {}
    for name, value in values.items():
        distinct.setdefault(value, name)
    if len(distinct) > 1:
        parts.wrong.append(
            f"{key} differs: " + ", ".join(f"{name} has {value}" for value, name in distinct.items())
        )
