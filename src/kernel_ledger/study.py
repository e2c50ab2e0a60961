"""What the workflow asks of a configuration: its plan, its folders, and what each pass is told.

Snakemake's rules name files; everything that has to be thought about is here, where it can be tested.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .checkout import at, found
from .config import Config, load_config
from .errors import ConfigError, EvidenceError, MachineError
from .files import read_json
from .nsys.find import find
from .plan import FORMAT, PASSES, make_plan
from .plan_file import CONTROL
from .repeats import Step, count, folder, predecessor, schedule
from .sources import imported_sources
from .workload import NAME

# What the passes of a case are told.  A change of anything else, such as a tolerance, leaves captures valid.
TOLD = ("device", "seed", "environment", "warmup", "iterations", "timeout_s", "timing", "torch", "nsys")
LIMITS_NOT_TOLD = ("timeline_events",)
TOLD_OF_TOLERANCE = ("rtol", "atol")
TOLD_OF_CASE = (
    "file",
    "source_sha256",
    "workload",
    "case",
    "parameters",
    "variants",
    "tolerance",
    "gpu_model",
)
SHORT = "spin_short"  # the ruler's shortest variant
FILES = {
    "numerics": ("numerics.json", "dataflow.json"),
    "timing": ("timing.json", "run.json"),
    "torch": ("trace.json.gz", "key_averages.txt", "key_averages.csv", "run.json"),
    "nsys": ("nsys/report.nsys-rep", "nsys/run.json"),
    "export": (
        "nsys/report.sqlite",
        "nsys/nvtx_sum.csv",
        "nsys/nvtx_gpu_proj_sum.csv",
        "nsys/nvtx_kern_sum.csv",
        "nsys/cuda_gpu_kern_sum.csv",
        "nsys/cuda_gpu_kern_sum_by_range.csv",
        "nsys/export.json",
    ),
}


@dataclass(frozen=True)
class Study:
    """A checked configuration and its plan."""

    config: Config
    plan: dict[str, Any]

    @property
    def output(self) -> str:
        return f"reports/{self.config.run}"

    @property
    def captures(self) -> str:
        """Where the evidence lies: the run's own folder, or that of the run which is replayed."""
        return f"{self.config.replay or self.output}/captures"

    @property
    def settings(self) -> str:
        """The configuration as one line of JSON, as far as it differs from the defaults."""
        return json.dumps(self.config.model_dump(exclude_defaults=True), sort_keys=True)

    @property
    def digest(self) -> str:
        return digest(self.plan)

    def case(self, workload: str, case: str) -> dict[str, Any]:
        """The plan's entry of one case."""
        return next(c for c in self.plan["cases"] if (c["workload"], c["case"]) == (workload, case))

    def told(self, workload: str, case: str) -> str:
        """A digest of all that a case's passes are told: when it changes, they have to run again."""
        planned, tolerance = self.case(workload, case), self.plan["tolerance"]
        return digest(
            [
                [self.plan[key] for key in TOLD],
                {k: v for k, v in self.plan["limits"].items() if k not in LIMITS_NOT_TOLD},
                [tolerance[key] for key in TOLD_OF_TOLERANCE],
                [planned[key] for key in TOLD_OF_CASE],
            ]
        )

    def ranks(self, workload: str, case: str) -> int:
        """Processes of a case, each with a GPU of its own."""
        return self.case(workload, case).get("world_size") or 1

    def needs_extension(self, workload: str, case: str) -> bool:
        """Whether any variant of a case calls the kernels that the rule build compiles."""
        return any("extension" in needs for needs in self.case(workload, case)["needs"].values())

    def evidence(self) -> list[str]:
        """Every file that reconcile reads.  Of a replayed run: what is there (what is not, it reports)."""
        if self.config.replay:
            return sorted(p.as_posix() for p in Path(self.captures).rglob("*") if p.is_file())
        passes = [*self.plan["passes"], *(["export"] if "nsys" in self.plan["passes"] else [])]
        control = [f"{self.captures}/{CONTROL}"] if self.plan["collision_control"] else []
        return control + [
            f"{self.captures}/{case['workload']}/{case['case']}/{name}"
            for case in self.plan["cases"]
            for repeat in range(1, count(self.plan, case) + 1)
            for pass_name in passes
            if repeat == 1 or pass_name != "numerics"
            for name in names(pass_name, case["variants"], repeat)
        ]

    def before(self, workload: str, case: str, step: Step) -> list[str]:
        """The record of the process that runs before this one: a case's order does not depend on ``repeats``."""
        earlier = predecessor(self.plan["passes"], self.case(workload, case)["variants"], step)
        return [f"{self.captures}/{workload}/{case}/{earlier.record}"] if earlier else []

    def half_measured(self) -> list[tuple[str, str]]:
        """Workload and case of each whose first pass has ended, and whose last has not."""
        found = []
        for case in self.plan["cases"]:
            folder = Path(self.captures, case["workload"], case["case"])
            steps = schedule(self.plan["passes"], case["variants"], count(self.plan, case))
            if (folder / "numerics.json").exists() and not all((folder / s.record).exists() for s in steps):
                found.append((case["workload"], case["case"]))
        return found

    @property
    def control(self) -> tuple[str, str, str]:
        """Workload, case and variant of the collision control: a short one of the ruler, where there is one."""
        chosen = next((c for c in self.plan["cases"] if SHORT in c["variants"]), self.plan["cases"][0])
        variant = SHORT if SHORT in chosen["variants"] else chosen["variants"][0]
        return chosen["workload"], chosen["case"], variant


def names(pass_name: str, variants: list[str], repeat: int = 1) -> list[str]:
    """What one pass leaves in a case's folder."""
    own = FILES[pass_name]
    if pass_name == "torch":
        own = [f"torch/{variant}/{name}" for variant in variants for name in own]
    return [f"{folder(repeat)}{name}" for name in own]


def digest(value: Any) -> str:
    """16 hex digits that stand for a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def prepare(mapping: Mapping[str, Any]) -> Study:
    """Check everything that can be checked before any job.  Raises ConfigError with all problems at once.

    On the CPU, where nsys has no kernel to see, its pass is left out where there is no nsys.
    """
    config = with_files_found(load_config(mapping))
    if config.replay:
        return Study(config, recorded_plan(Path(config.replay)))
    left_out = None if config.device == "cuda" or nsys_works(config) else "nsys"
    return Study(config, make_plan(config, [p for p in PASSES if p != left_out]))


def with_files_found(config: Config) -> Config:
    """The configuration with the workloads that come along where they lie, should this not be our own folder."""
    workloads = [choice.model_copy(update={"file": found(choice.file)}) for choice in config.workloads]
    return config.model_copy(update={"workloads": workloads})


def nsys_works(config: Config) -> bool:
    """Whether there is an nsys that can record and import.  Raises MachineError for a wrong ``nsys.path``."""
    try:
        nsys = find(config.nsys.path, os.environ)
    except MachineError:
        if config.nsys.path:
            raise
        return False
    return nsys.importer_ok


def recorded_plan(run: Path) -> dict[str, Any]:
    """The plan of a recorded run.  Raises ConfigError for none, EvidenceError for a damaged one."""
    path = run / "captures" / "plan.json"
    if not path.is_file():
        there = sorted(p.parent.parent.as_posix() for p in Path("reports").glob("*/captures/plan.json"))
        raise ConfigError(
            "there is no recorded run to replay",
            where=f"replay={run}",
            expected=path,
            found=f"runs here: {', '.join(there) or 'none'}",
            next_step="give the folder of a run, such as replay=reports/h200-reference",
        )
    plan = read_json(path, format=FORMAT)
    refuse_odd_names(plan, path)
    return plan


def refuse_odd_names(plan: Mapping[str, Any], path: Path) -> None:
    """Names that become folders are held to the same letters when a plan is read back: it may come from anywhere.

    Raises EvidenceError.
    """
    try:
        names = [n for c in plan["cases"] for n in (c["workload"], c["case"], *c["variants"])]
    except (KeyError, TypeError) as error:
        raise EvidenceError("this plan is not complete", where=path, found=f"missing {error}") from error
    odd = [n for n in names if not isinstance(n, str) or not NAME.fullmatch(n) or n[0] in ".-"]
    if odd:
        raise EvidenceError(
            "this plan holds names that cannot be folders",
            where=path,
            expected=f"names of {NAME.pattern}, none beginning with a dot or a dash",
            found=", ".join(map(repr, odd[:5])),
            next_step="take the plan as its run wrote it",
        )


def pass_sources(script: str) -> list[str]:
    """The source files whose change makes a measured pass stale (also those its child process runs)."""
    package = Path(at("src/kernel_ledger"))
    return imported_sources([Path(at(script)), *sorted(package.glob("passes/*.py"))], package)


def script_sources(script: str) -> list[str]:
    """The source files whose change makes the output of a rule's script stale."""
    return imported_sources([Path(at(script))], Path(at("src/kernel_ledger")))


def workload_sources(file: str) -> list[str]:
    """A workload file and what it imports of this package, whose change makes its passes stale."""
    return imported_sources([Path(file)], Path(at("src/kernel_ledger")))
