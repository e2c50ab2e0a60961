"""The configuration: one typed model, unknown keys refused, all problems shown at once.

``config.yaml`` and ``workflow/schemas/config.schema.json`` are generated from these models: after a change,
run ``python -m kernel_ledger.config_schema``.  Every field says its unit and its limits, since they become
the comments that a user reads and the messages that a user gets.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError

from .claims.declared import EVERY_RUN, LINEAR_CHAIN, Claim
from .claims.planned import syntax_problems
from .config_problems import ConfigProblems, sentences
from .config_types import (
    Architecture,
    Count,
    EnvironmentName,
    FilePath,
    Model,
    Name,
    Quantity,
    Scalar,
    Section,
    empty_is_none,
)


class WorkloadChoice(Section):
    """One workload file, with the cases and variants of it that are measured."""

    file: FilePath = Field(description="a workload file")
    cases: list[dict[str, Scalar]] | None = Field(
        None,
        min_length=1,
        description="without it, the file's own for the device",
        examples=[[{"rows": 65536, "dim": 1024}]],
    )
    variants: list[Name] | None = Field(
        None,
        min_length=1,
        description="without it, all; yardsticks such as copy always run",
        examples=[["eager", "fused"]],
    )
    gpu_model: Model | None = Field(
        None,
        description="measure it on a GPU of this model only; profiles/slurm asks Slurm for it",
        examples=["h100"],
    )
    repeats: Count | None = Field(
        None,
        ge=1,
        le=100,
        description="processes of each of its passes; null: measure.repeats",
        examples=[3],
    )
    claims: list[Claim] = Field(
        [], description="what is expected of it; each run says whether it came out so"
    )


class Timing(Section):
    """When the timing pass has enough samples of a case."""

    min_samples: Count = Field(20, ge=3, le=100_000, description="samples of each variant, at least")
    max_samples: Count = Field(200, ge=3, le=100_000, description="samples of each variant, at most")
    max_seconds: Quantity = Field(
        30.0, gt=0, le=86_400, description="stop a case after this time", json_schema_extra={"unit": "s"}
    )
    noise_pct: Quantity = Field(
        0.5,
        gt=0,
        le=100,
        description="stop when the median is known this well",
        json_schema_extra={"unit": "%"},
    )
    flush_l2: bool = Field(False, description="overwrite the L2 cache before each sample")


class Measure(Section):
    """How much is recorded."""

    warmup: Count = Field(5, ge=0, le=10_000, description="calls of each variant before any is recorded")
    iterations: Count = Field(
        10, ge=1, le=10_000, description="recorded calls of each variant, in both books"
    )
    repeats: Count = Field(
        1, ge=1, le=100, description="processes of each pass; their spread widens agreement_pct"
    )
    collision_control: bool = Field(
        True, description="also run a clean pass under nsys, which must notice it (only on cuda)"
    )
    timeout_s: Count = Field(
        900,
        ge=1,
        le=86_400,
        description="time limit of one measured process",
        json_schema_extra={"unit": "s"},
    )
    timing: Timing = Field(Timing(), description="the timing pass: no profiler in the process")


class Tolerance(Section):
    """What counts as equal."""

    agreement_pct: Quantity = Field(
        1.0,
        gt=0,
        le=100,
        description="a kernel's time in both books may differ by this",
        json_schema_extra={"unit": "%"},
    )
    short_kernel_ns: Count = Field(
        20_000, ge=0, le=10**9, description="kernels under this are short", json_schema_extra={"unit": "ns"}
    )
    short_kernel_extra_ns: Count = Field(
        200,
        ge=0,
        le=10**6,
        description="and may differ by this much more",
        json_schema_extra={"unit": "ns"},
    )
    communication_pct: Quantity = Field(
        25.0,
        gt=0,
        le=100,
        description="a kernel that waits for other ranks, or runs beside one that does, may differ by this",
        json_schema_extra={"unit": "%"},
    )
    rtol: Quantity = Field(1e-5, ge=0, le=1, description="numerics: relative, against the first variant")
    atol: Quantity = Field(1e-6, ge=0, le=1, description="numerics: absolute, against the first variant")


class Build(Section):
    """The CUDA extension."""

    architectures: list[Architecture] = Field(
        [], description='GPU architectures such as "9.0"; none: the GPU that is present'
    )


class Nsys(Section):
    """Nsight Systems."""

    path: Annotated[FilePath | None, BeforeValidator(empty_is_none)] = Field(
        None, description="nsys itself; null: from PATH, the CUDA toolkit or /opt/nvidia"
    )
    emit_nvtx: bool = Field(
        False,
        description="a range for each operator: operators.csv names them by both tools; slower host side",
    )
    reports: Literal["auto", "tool"] = Field(
        "auto", description="beyond limits.reports_kernels, two slow reports are computed here; tool: never"
    )


class Torch(Section):
    """torch.profiler."""

    with_stack: bool = Field(
        False, description="record Python stacks, for flame graphs: larger traces, slower host side"
    )


class SizeLimits(Section):
    """How large a capture may grow, and from where on what is slow is left out or done otherwise."""

    max_events: Count = Field(50_000_000, ge=1, le=10**10, description="events of one trace or recording")
    max_seconds: Count = Field(
        3600, ge=1, le=86_400 * 7, description="time limit of one export", json_schema_extra={"unit": "s"}
    )
    max_disk_gb: Quantity = Field(
        100.0, gt=0, le=10**6, description="size of one file of a capture", json_schema_extra={"unit": "GB"}
    )
    key_averages_events: Count = Field(
        200_000, ge=0, le=10**10, description="events beyond which torch's key_averages() is skipped"
    )
    reports_kernels: Count = Field(
        100_000, ge=0, le=10**10, description="kernels beyond which nsys.reports decides"
    )
    timeline_events: Count = Field(
        2_000_000, ge=0, le=10**10, description="events of a case that its timeline holds, about 1 kB each"
    )


class Compare(Section):
    """The rule compare: two runs, row by row."""

    base: Annotated[FilePath | None, BeforeValidator(empty_is_none)] = Field(
        None, description="the run known to be good, such as reports/h200-reference"
    )
    new: Annotated[FilePath | None, BeforeValidator(empty_is_none)] = Field(
        None, description="the run in question; null: the one that this study makes"
    )
    threshold_pct: Quantity = Field(
        2.0,
        gt=0,
        le=100,
        description="two runs of the same code may differ by this",
        json_schema_extra={"unit": "%"},
    )
    force: bool = Field(False, description="compare what may not be compared, and mark the result")


class Config(Section):
    """A whole study."""

    run: Name = Field("local", description="results go to reports/<run>/")
    device: Literal["cuda", "cpu"] = Field(
        "cuda", description="cpu runs every pass, but there are no GPU kernels to compare"
    )
    replay: Annotated[FilePath | None, BeforeValidator(empty_is_none)] = Field(
        None, description="measure nothing; read this run again, such as reports/h200-reference"
    )
    seed: Count = Field(2026, ge=0, lt=2**32, description="seeds all inputs and weights")
    workloads: list[WorkloadChoice] = Field(
        [WorkloadChoice(file="workloads/linear_chain.py", claims=LINEAR_CHAIN)],
        min_length=1,
        description="what is measured",
    )
    measure: Measure = Field(Measure(), description="how much is recorded")
    tolerance: Tolerance = Field(Tolerance(), description="what counts as equal")
    build: Build = Field(Build(), description="the CUDA extension")
    nsys: Nsys = Field(Nsys(), description="Nsight Systems")
    torch: Torch = Field(Torch(), description="torch.profiler")
    limits: SizeLimits = Field(
        SizeLimits(), description="how large a capture may grow; a pass's time: measure.timeout_s"
    )
    compare: Compare = Field(Compare(), description="two runs, row by row: snakemake --cores 1 compare")
    environment: list[EnvironmentName] = Field(
        [], description="more variables for measured processes; an .nsys-rep stores their values"
    )
    claims: list[Claim] = Field(
        list(EVERY_RUN), description="what is expected of every case; they decide no verdict"
    )


def load_config(mapping: Mapping[str, Any]) -> Config:
    """Check what YAML and ``--config key=value`` gave.  Raises one ConfigProblems with all that is wrong."""
    try:
        config = Config.model_validate(dict(mapping))
    except ValidationError as error:
        raise ConfigProblems(sentences(error, Config.model_json_schema())) from None
    if found := contradictions(config):
        raise ConfigProblems(found)
    return config


def contradictions(config: Config) -> list[str]:
    """Keys that are fine alone and not together, each as a sentence."""
    found = syntax_problems(config)
    timing = config.measure.timing
    if timing.max_samples < timing.min_samples:
        found.append(
            f"measure.timing.max_samples: {timing.max_samples} is below min_samples, {timing.min_samples}"
        )
    models = {choice.gpu_model for choice in config.workloads if choice.gpu_model}
    if len(models) > 1 and not config.build.architectures:
        found.append(
            f"build.architectures: list those of {', '.join(sorted(models))}; the extension is built once, and "
            "without a list for the GPU that happens to be there"
        )
    if config.replay and Path(config.replay).resolve() == (Path("reports") / config.run).resolve():
        found.append(
            f"run: {config.run!r} is the run that replay reads, and would be overwritten; choose another, "
            "such as run=again"
        )
    return found
