"""The frozen configuration of a run: every case and variant that will be measured, checked together.

Planning imports the workload files and no torch.  Together with the captures, the plan is enough to
recompute the table: nothing downstream reads config.yaml or a workload file again.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from . import __version__
from .checkout import found
from .claims.planned import enter_claims
from .config import Config, WorkloadChoice
from .config_problems import ConfigProblems
from .errors import ConfigError
from .workload import NAME, Variant, Workload, load, source_hash, unknown_parameters

FORMAT = 1  # 1: the first
RULER = "workloads/ruler.py"
PASSES = ("numerics", "timing", "torch", "nsys")
NOT_ON_CPU = ("cuda", "triton")


def make_plan(config: Config, passes: Sequence[str] = PASSES) -> dict[str, Any]:
    """The plan of a configuration: JSON of format 1.  Raises one ConfigProblems with all that is wrong."""
    problems: list[str] = []
    left_out: list[dict[str, str]] = []
    cases = [case for choice in choices(config) for case in planned(choice, config, problems, left_out)]
    problems += repeated(cases)
    problems += enter_claims(cases, config)
    if not problems and all(case["file"] == found(RULER) for case in cases):
        problems += [f"{left['file']}: this machine cannot run it: {left['reason']}" for left in left_out]
    if problems:
        raise ConfigProblems(problems)
    measure = config.measure
    return {
        "format": FORMAT,
        "version": __version__,
        "device": config.device,
        "passes": list(passes),
        "seed": config.seed,
        "warmup": measure.warmup,
        "iterations": measure.iterations,
        "repeats": measure.repeats,
        "collision_control": measure.collision_control and config.device == "cuda",
        "timeout_s": measure.timeout_s,
        "timing": measure.timing.model_dump(),
        "tolerance": config.tolerance.model_dump(),
        "torch": config.torch.model_dump(),
        "nsys": config.nsys.model_dump(exclude={"reports"}),  # what the passes are told: see study.TOLD
        "limits": {**config.limits.model_dump(), "nsys_reports": config.nsys.reports},
        "environment": list(config.environment),
        "cases": cases,
        "left_out": left_out,
    }


def choices(config: Config) -> Iterator[WorkloadChoice]:
    """The workloads of the configuration, and the ruler, which judges the profilers of every run on CUDA."""
    yield from config.workloads
    if config.device == "cuda" and found(RULER) not in [choice.file for choice in config.workloads]:
        yield WorkloadChoice(file=found(RULER))


def planned(
    choice: WorkloadChoice, config: Config, problems: list[str], left_out: list[dict[str, str]]
) -> Iterator[dict[str, Any]]:
    """The plan's entries for one workload; what is wrong with it goes to ``problems``.

    A workload that this machine cannot run goes to ``left_out``, with the reason.
    """
    path = Path(choice.file)
    try:
        workload = load(path)
    except ConfigError as error:
        problems.append(str(error).replace("\n", "\n    "))
        return
    if workload.unavailable and (reason := workload.unavailable(config.device)):
        left_out.append({"workload": workload.name, "file": path.as_posix(), "reason": reason})
        return
    before = len(problems)
    problems += [f"{path}: {problem}" for problem in bad_names(workload)]
    unknown = unknown_variants(choice, workload)
    problems += [f"{path}: {problem}" for problem in unknown]
    variants, without = chosen_variants(choice, workload, config.device)
    if not unknown and all(v.role == "reference" for v in variants):
        problems.append(f"{path}: no variant is left on device {config.device} ({told(without)})")
    given = workload.cases.get(config.device, ()) if choice.cases is None else choice.cases
    if not given:
        problems.append(f"{path}: no case for device {config.device}; list `cases:` in config.yaml")
    for number, case in enumerate(given):
        where = f"{path}: case {number + 1}"
        problems += unknown_parameters(workload, case, where)
        parameters = typed(case, workload.parameters, where, problems)
        if len(problems) == before:
            try:
                made = entry(path, workload, workload.complete(parameters), variants, without)
                yield made | {"gpu_model": choice.gpu_model, "repeats": choice.repeats}
            except (TypeError, ValueError, ArithmeticError, KeyError) as error:
                problems.append(f"{where}: its parameters {parameters} do not work: {error!r}")


def entry(
    path: Path,
    workload: Workload,
    parameters: dict[str, Any],
    variants: list[Variant],
    left_out: dict[str, str],
) -> dict[str, Any]:
    """One case as plan.json has it, but for what the configuration says of it."""
    return {
        "workload": workload.name,
        "file": path.as_posix(),
        "source_sha256": source_hash(path),
        "case": workload.case_name(parameters),
        "parameters": parameters,
        "variants": [v.name for v in variants],
        "left_out": left_out,
        "roles": {v.name: v.role for v in variants},
        "launches": {v.name: v.launches for v in variants if v.launches is not None},
        "kernels": {v.name: dict(v.kernels) for v in variants if v.kernels},
        "traffic": {
            v.name: {"reads": v.traffic.reads, "writes": v.traffic.writes} for v in variants if v.traffic
        },
        "needs": {v.name: list(v.needs) for v in variants if v.needs},
        "output_rtol": {v.name: v.output_rtol for v in variants if v.output_rtol is not None},
        "elements": workload.elements(parameters) if workload.elements else None,
        "element_bytes": workload.element_bytes(parameters)
        if callable(workload.element_bytes)
        else workload.element_bytes,
        "working_set": workload.working_set(parameters) if workload.working_set else None,
        "not_chain": list(workload.not_chain),
        "clamp": None if workload.clamp is None else list(workload.clamp),
        "tolerance": asdict(workload.tolerance(parameters)) if workload.tolerance else None,
        "flops": workload.flops(parameters) if workload.flops else None,
        "world_size": ranks(workload, parameters),
        "published": asdict(workload.published) if workload.published else None,
        "sections": list(workload.sections),
    }


def ranks(workload: Workload, parameters: dict[str, Any]) -> int | None:
    """Processes of a case, None for a workload without a process group.  Raises ValueError for fewer than one."""
    if workload.world_size is None:
        return None
    count = workload.world_size(parameters)
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ValueError(f"its world size is {count!r}, not a number of processes")
    return count


def chosen_variants(
    choice: WorkloadChoice, workload: Workload, device: str
) -> tuple[list[Variant], dict[str, str]]:
    """The variants to run, in the workload's order, and why this device cannot run the others."""
    wanted = [
        v
        for v in workload.variants
        if choice.variants is None or v.name in choice.variants or v.role == "reference"
    ]
    left_out = {v.name: reason for v in wanted if (reason := impossible(v, device))}
    return [v for v in wanted if v.name not in left_out], left_out


def impossible(variant: Variant, device: str) -> str | None:
    """Why a variant cannot run on this device of this machine, or None."""
    missing = [need for need in variant.needs if need in NOT_ON_CPU and device == "cpu"]
    if missing:
        return f"needs {missing[0]}, and the device is {device}"
    return variant.unavailable(device) if variant.unavailable else None


def told(left_out: Mapping[str, str]) -> str:
    return "; ".join(f"{name} {reason}" for name, reason in left_out.items()) or "none was chosen"


def unknown_variants(choice: WorkloadChoice, workload: Workload) -> list[str]:
    """Chosen variants that do not exist, with the nearest that does, and those chosen twice."""
    names = [v.name for v in workload.variants]
    wanted = choice.variants or []
    found = [f"variant {n!r} is listed twice" for n in dict.fromkeys(wanted) if wanted.count(n) > 1]
    for name in dict.fromkeys(wanted):
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
            found.append(f"{workload.name} has no variant {name!r}; {hint}")
    return found


def bad_names(workload: Workload) -> list[str]:
    """Names that cannot be folders; the loader has checked their letters."""
    names = [workload.name, *(v.name for v in workload.variants)]
    return [f"the name {n!r} cannot start with {n[0]!r}" for n in names if n[0] in ".-" and NAME.fullmatch(n)]


def typed(
    case: Mapping[str, Any], defaults: Mapping[str, Any], where: str, problems: list[str]
) -> dict[str, Any]:
    """A case with its values in the types of the workload's defaults; --config gives all of them as text."""
    values = {}
    for key, value in case.items():
        kind = type(defaults.get(key))
        try:
            values[key] = converted(value, kind)
        except ValueError:
            problems.append(f"{where}: {key} is {value!r}; expected {kind.__name__}, as in {defaults[key]!r}")
    return values


def converted(value: Any, kind: type) -> Any:
    """``value`` as ``kind``, where nothing is lost by it.  Raises ValueError."""
    if kind not in (bool, int, float, str) or type(value) is kind:
        return value
    if kind is bool and str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    if kind is int and isinstance(value, str):
        return int(value)
    if kind is float and not isinstance(value, bool):
        return float(value)
    if kind is str and not isinstance(value, bool):
        return str(value)
    raise ValueError(value)


def repeated(cases: list[dict[str, Any]]) -> list[str]:
    """Cases that would write into the same folder."""
    names = [f"{case['workload']}/{case['case']}" for case in cases]
    return [f"{n} is listed {names.count(n)} times" for n in dict.fromkeys(names) if names.count(n) > 1]
