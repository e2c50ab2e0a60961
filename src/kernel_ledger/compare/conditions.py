"""Under which conditions a case was measured, and which of them two runs must share to be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..capture import CaseEvidence
from ..plan_file import Plan

VERSIONS = ("driver", "torch", "cuda", "cudnn", "triton")
MAY_DIFFER = ("GPU uuid", "versions.nvcc", "versions.kernel_ledger", "SM clock MHz")
"""Told as a warning: another GPU of the same model, and what the code under test is built or measured with."""


@dataclass(frozen=True)
class Difference:
    """A condition that is not the same in both runs; ``where``: the case, or "run"."""

    where: str
    key: str
    base: Any
    new: Any

    def __str__(self) -> str:
        return f"{self.where}: {self.key}: {self.base} in the base run, {self.new} in the new one"


def conditions(plan: Plan, case: CaseEvidence) -> dict[str, Any]:
    """Key -> value; None where the run does not say."""
    timing, nsys = (case.records.get(name, {}) for name in ("timing", "nsys"))
    gpu, versions = timing.get("gpu") or {}, timing.get("versions", {})
    return {
        "device": plan.device,
        "GPU": gpu.get("name"),
        **{f"versions.{name}": versions.get(name) for name in VERSIONS},
        "versions.nsys": nsys.get("versions", {}).get("nsys"),
        "workload source": case.plan.source_sha256[:12],
        "parameters": dict(case.plan.parameters),
        "seed": plan.seed,
        "warmup": timing.get("warmup"),
        "iterations": plan.iterations,
        "repeats": plan.repeats_of(case.plan),
        "TF32": timing.get("tf32"),
        "flush_l2": (case.timing or {}).get("flush_l2"),
        "timer": (case.timing or {}).get("timer"),
        "GPU uuid": gpu.get("uuid"),
        "versions.nvcc": versions.get("nvcc"),
        "versions.kernel_ledger": versions.get("kernel_ledger"),
        "SM clock MHz": ((timing.get("nvml") or {}).get("after") or {}).get("sm_mhz"),
    }


def differences(
    base: Mapping[str, Mapping[str, Any]], new: Mapping[str, Mapping[str, Any]]
) -> Iterator[Difference]:
    """Every condition of a shared case in which the runs differ, each once for all cases that share it."""
    shared = [label for label in base if label in new]
    if not shared:
        yield Difference("run", "cases", ", ".join(base) or "none", ", ".join(new) or "none")
    found: dict[tuple[str, str, str], list[str]] = {}
    values: dict[tuple[str, str, str], tuple[Any, Any]] = {}
    for label in shared:
        for key, before in base[label].items():
            after = new[label].get(key)
            if before != after:
                same = (key, repr(before), repr(after))
                found.setdefault(same, []).append(label)
                values[same] = (before, after)
    for same, labels in found.items():
        yield Difference(", ".join(labels), same[0], *values[same])
