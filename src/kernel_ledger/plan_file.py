"""Reads plan.json: what a run set out to measure, and the limits it is judged by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .errors import EvidenceError
from .files import read_json
from .limits import Limits as SizeLimits
from .limits import limits_of

PASSES = ("numerics", "timing", "torch", "nsys")
CONTROL = "collision_control.json"  # of a run, beside plan.json


@dataclass(frozen=True)
class Limits:
    """``agreement_pct``: greatest difference of medians; kernels shorter than ``short_kernel_ns`` get
    ``short_kernel_extra_ns`` more; ``rtol`` and ``atol`` of the numerics; ``communication_pct``: of kernels that
    exchange data with other ranks, and of those that run beside one."""

    agreement_pct: float
    short_kernel_ns: int
    short_kernel_extra_ns: int
    rtol: float
    atol: float
    communication_pct: float = 25.0  # the first plans of format 1 have none

    def beside_communication(self) -> Limits:
        """The limits of what waits for other ranks, or runs beside it."""
        return replace(self, agreement_pct=max(self.agreement_pct, self.communication_pct))


@dataclass(frozen=True)
class PlannedCase:
    """One case of the plan, as plan.json has it."""

    workload: str
    case: str
    variants: tuple[str, ...]
    roles: Mapping[str, str]
    launches: Mapping[str, int | None]
    kernels: Mapping[str, Mapping[str, int]]
    traffic: Mapping[str, Mapping[str, int]]
    elements: int | None
    element_bytes: int
    working_set: int | None
    not_chain: tuple[str, ...]
    source_sha256: str
    parameters: Mapping[str, Any]
    tolerance: Mapping[str, float] | None = None
    flops: int | None = None
    published: Mapping[str, Any] | None = None
    sections: tuple[str, ...] = ()
    gpu_model: str | None = None
    world_size: int | None = None
    output_rtol: Mapping[str, float] = field(default_factory=dict)
    repeats: int | None = None  # where it is not the run's

    @property
    def label(self) -> str:
        return f"{self.workload}/{self.case}"

    def range_name(self, variant: str) -> str:
        return f"{self.workload}/{variant}"

    def limits(self, of_run: Limits) -> tuple[float, float]:
        """(rtol, atol) of this case: the workload's own, else the run's."""
        if self.tolerance is None:
            return of_run.rtol, of_run.atol
        return self.tolerance["rtol"], self.tolerance["atol"]

    def compared(self) -> tuple[str, ...]:
        """Variants that must agree numerically, the baseline first."""
        return tuple(v for v in self.variants if self.roles.get(v, "variant") == "variant")


# the first plans of format 1 have none of these
LATER = ("tolerance", "flops", "published", "sections", "gpu_model", "world_size", "output_rtol", "repeats")

LATER_LIMIT = "communication_pct"


@dataclass(frozen=True)
class Plan:
    device: str
    seed: int
    iterations: int
    limits: Limits
    cases: tuple[PlannedCase, ...]
    passes: tuple[str, ...] = PASSES
    repeats: int = 1
    collision_control: bool = False
    excerpt: Mapping[str, Any] | None = None
    timeline_events: int = SizeLimits.timeline_events

    def repeats_of(self, case: PlannedCase) -> int:
        """Processes of each pass of a case."""
        return case.repeats or self.repeats

    def of_all_repeats(self, case: PlannedCase) -> Plan:
        """The plan as a table over all repeats of a case sees it: so many iterations of each variant."""
        return replace(self, iterations=self.iterations * self.repeats_of(case))


def read_plan(path: Path) -> Plan:
    """Read a run's plan.  Raises EvidenceError on a missing, foreign or incomplete file."""
    value = read_json(path, format=1)
    try:
        told = {name: value["tolerance"][name] for name in Limits.__dataclass_fields__ if name != LATER_LIMIT}
        limits = Limits(**told, **{n: v for n, v in value["tolerance"].items() if n == LATER_LIMIT})
        cases = tuple(planned_case(case) for case in value["cases"])
        passes = tuple(value.get("passes", PASSES))
        return Plan(
            device=value["device"],
            seed=value["seed"],
            iterations=value["iterations"],
            limits=limits,
            cases=cases,
            passes=passes,
            repeats=value.get("repeats", 1),  # the first plans of format 1 have neither of these
            collision_control=value.get("collision_control", False),
            excerpt=value.get("excerpt"),
            timeline_events=limits_of(value).timeline_events,
        )
    except (KeyError, TypeError) as error:
        raise EvidenceError("this plan is not complete", where=path, found=f"missing {error}") from error


def planned_case(case: Mapping[str, Any]) -> PlannedCase:
    fields = {
        name: case[name] for name in PlannedCase.__dataclass_fields__ if name in case or name not in LATER
    }
    fields["sections"] = tuple(case.get("sections", ()))
    fields["variants"], fields["not_chain"] = tuple(case["variants"]), tuple(case["not_chain"])
    return PlannedCase(**fields)
