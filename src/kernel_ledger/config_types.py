"""The types of configuration values: what a name, a path, a count may be, and what is said of anything else."""

from __future__ import annotations

import os
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema


def scalar(value: Any) -> Any:
    """A case's parameter: plan.json must be able to hold it, and a file name to spell it."""
    if (
        not isinstance(value, bool | int | float | str)
        or value in (float("inf"), -float("inf"))
        or value != value
    ):
        raise ValueError("a case's parameter is one finite value")
    return value


def not_a_truth_value(value: Any) -> Any:
    """YAML's ``yes`` and ``on`` are truth values, which Python would count as 1."""
    if isinstance(value, bool):
        raise ValueError("a truth value stands where a number belongs")
    return value


def empty_is_none(value: Any) -> Any:
    """``--config replay=`` and ``--config replay=null`` both mean: none."""
    return None if value in ("", "null", "None") else value


def plain_path(value: str) -> str:
    """A path that is safe in a Snakefile: spaces and quotes are fine, braces and control characters not."""
    if bad := sorted({c for c in value if c in "{}" or not c.isprintable()}):
        raise ValueError(f"a path cannot contain {', '.join(map(repr, bad))}")
    return os.path.normpath(value)


def not_a_fraction(value: Any) -> Any:
    """1e5 and 1.0 arrive as numbers, whose text is another: 100000.0 is no name that anyone gave."""
    if isinstance(value, float):
        raise ValueError(
            f"it was read as the number {value}, so that its own spelling is lost; begin it with a letter"
        )
    return value


def folder_name(value: str) -> str:
    """A name that is a folder of its own: not ``..``, not hidden, not an option of a command."""
    if value[0] in ".-":
        raise ValueError(f"a folder name cannot start with {value[0]!r}")
    return value


Scalar = Annotated[
    Any, AfterValidator(scalar), WithJsonSchema({"type": ["integer", "number", "string", "boolean"]})
]
Count = Annotated[int, BeforeValidator(not_a_truth_value)]
Quantity = Annotated[float, BeforeValidator(not_a_truth_value)]
FilePath = Annotated[str, Field(min_length=1), AfterValidator(plain_path)]
Name = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9_.-]+$", max_length=100),
    BeforeValidator(not_a_fraction),
    AfterValidator(folder_name),
]
Architecture = Annotated[str, Field(pattern=r"^[0-9]{1,2}\.[0-9][a-z]?$")]
Model = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.]+$", max_length=100)]  # what Slurm's executor takes
EnvironmentName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class Section(BaseModel):
    """What all sections share: unknown keys refused, no infinities, 9.0 accepted where "9.0" is meant."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, coerce_numbers_to_str=True, validate_default=True
    )
