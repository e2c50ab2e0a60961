"""What a launcher asks of a measured process: built by a pure function, echoed by the child, compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .errors import ConfigError

FORMAT = 1  # 1: the first
PASSES = ("numerics", "timing", "torch", "nsys")
PROBE = "probe.json"  # left by a clean pass that found another profiler


def plan_case(plan: Mapping[str, Any], workload: str, case: str) -> dict[str, Any]:
    """The plan's entry of one case.  Raises ConfigError listing the cases that there are."""
    for entry in plan["cases"]:
        if (entry["workload"], entry["case"]) == (workload, case):
            return entry
    raise ConfigError(
        "the plan has no such case",
        expected=", ".join(f"{entry['workload']}/{entry['case']}" for entry in plan["cases"]),
        found=f"{workload}/{case}",
        next_step="run `snakemake --cores 1` again, so that the plan is written anew",
    )


def build_request(
    plan: Mapping[str, Any],
    entry: Mapping[str, Any],
    pass_name: str,
    *,
    variants: Sequence[str],
    library: Path | None,
    output: Path,
) -> dict[str, Any]:
    """request.json of a pass, format 1; paths relative to the repository root where they were given so."""
    return {
        "format": FORMAT,
        "pass": pass_name,
        "workload_file": entry["file"],
        "workload": entry["workload"],
        "parameters": entry["parameters"],
        "case": entry["case"],
        "variants": list(variants),
        "device": plan["device"],
        "seed": plan["seed"],
        "warmup": plan["warmup"],
        "iterations": plan["iterations"],
        "library": None if library is None else str(library),
        "output": str(output),
        "timing": plan["timing"],
        "tolerance": {name: (entry.get("tolerance") or plan["tolerance"])[name] for name in ("rtol", "atol")},
        "torch": plan["torch"],
        "limits": plan.get("limits") or {},  # the first plans of format 1 have none
        "world_size": entry.get(
            "world_size"
        ),  # of the processes that torchrun starts; None: one without a group
        "emit_nvtx": bool(plan["nsys"].get("emit_nvtx")),  # the first plans of format 1 lack it
    }


def range_name(request: Mapping[str, Any], variant: str) -> str:
    """The name under which a variant's iterations are announced in both books."""
    return f"{request['workload']}/{variant}"


def announcements(request: Mapping[str, Any]) -> dict[str, int]:
    """Range name -> instances that a pass announces; passes without a profiler announce none."""
    if request["pass"] not in ("torch", "nsys"):
        return {}
    return {range_name(request, variant): request["iterations"] for variant in request["variants"]}
