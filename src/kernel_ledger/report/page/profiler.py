"""Rows of torch.profiler's own table (key_averages) whose times repeat one another, and why.

Input: torch/<variant>/key_averages.csv, grouping "plain", times in ns; and the case's rows of the table.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass

from ...errors import EvidenceError
from ...names import demangle, memory_name
from ..numbers import duration
from .read import Case

SHOWN = 30
BUFFER = "Activity Buffer Request"
COMPILED = ("## Call CompiledFxGraph", "Torch-Compiled Region")


@dataclass(frozen=True)
class Repeated:
    """A row that must not be added to the kernels' rows; times in ns."""

    name: str
    calls: int
    self_ns: int
    total_ns: int
    why: str


@dataclass(frozen=True)
class ProfilerTable:
    """``sum_ns``: what the column "self device time" adds up to; ``kernels_ns``: the kernels' own rows alone."""

    variant: str
    source: str
    sum_ns: int
    kernels_ns: int
    gpu_ns: float | None
    rows: list[Repeated]
    left_out: int

    @property
    def factor(self) -> float | None:
        return self.sum_ns / self.gpu_ns if self.gpu_ns else None


def profiler_table(case: Case, variant: str) -> ProfilerTable | None:
    """One variant's table, or None where it holds no time of a GPU.  Raises EvidenceError."""
    name = f"torch/{variant}/key_averages.csv"
    lines = [line for line in read_lines(case, name) if line["self_device_ns"] or line["device_total_ns"]]
    if not lines:
        return None
    mine = [row for row in case.rows if row["variant"] == variant]
    kernels = {row["name"]: row for row in mine if row["level"] in ("kernel", "memory")}
    counted = [line for line in lines if is_operation(line, kernels)]
    rows = [
        Repeated(
            line["name"], line["count"], line["self_device_ns"], line["device_total_ns"], why(line, mine)
        )
        for line in lines
        if not is_operation(line, kernels)
    ]
    block = next((row for row in mine if row["level"] == "block"), None)
    return ProfilerTable(
        variant=variant,
        source=case.source(name),
        sum_ns=sum(line["self_device_ns"] for line in lines),
        kernels_ns=sum(line["self_device_ns"] for line in counted),
        gpu_ns=block["torch_total_ns"] if block else None,
        rows=rows[:SHOWN],
        left_out=max(0, len(rows) - SHOWN),
    )


def read_lines(case: Case, name: str) -> list[dict]:
    """The plain grouping.  Raises EvidenceError on a missing or foreign file."""
    path = case.folder / name
    numbers = ("count", "self_cpu_ns", "self_device_ns", "device_total_ns")
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            found = [line for line in csv.DictReader(stream) if line["grouping"] == "plain"]
        return [line | {key: int(line[key]) for key in numbers} for line in found]
    except OSError as error:
        raise EvidenceError("this file cannot be read", where=path, found=error.strerror) from error
    except (KeyError, TypeError, ValueError) as error:
        raise EvidenceError("this is not a table of key_averages", where=path, found=error) from error


def is_operation(line: dict, kernels: dict[str, dict]) -> bool:
    """Whether a line is a GPU operation's own: no time on the CPU, and the name of one."""
    name = line["name"]
    return line["self_cpu_ns"] == 0 and ({name, demangle(name), memory_name(name)} & set(kernels) != set())


def why(line: dict, rows: list[dict]) -> str:
    """Why a line's device time must not be added to the kernels'."""
    name, own = line["name"], line["self_device_ns"]
    if name == BUFFER:
        return buffer_reason(own, rows)
    if name.startswith(COMPILED):
        return "a compiled region: the kernels inside it have their own rows"
    if any(row["level"] == "range" and row["name"] == name for row in rows):
        if own:
            return "the range as the GPU saw it (gpu_user_annotation): first to last operation, gaps included"
        return "the announced range on the host: the total of everything called in it"
    if not own:
        return "a caller: no time of its own, its total is that of the operators inside it"
    launched = next((r for r in rows if r["level"] == "operator" and r["name"] == name), None)
    if launched and launched["torch_total_ns"] == own:
        return "an operator: exactly the time of the kernels that it launched, once more"
    return "an operator: the time of the kernels that it launched, once more"


def buffer_reason(own: int, rows: list[dict]) -> str:
    """The profiler's own row; where its time is exactly one launch of a kernel, that is said."""
    if not own:
        return "the profiler's own buffer"
    for row in rows:
        if row["level"] == "kernel" and own in (row["torch_max_ns"], row["torch_min_ns"]):
            extreme = "longest" if own == row["torch_max_ns"] else "shortest"
            return (
                f"the profiler's own buffer, to which torch books a launch that came while it was made: "
                f"{duration(own)} is to the nanosecond the {extreme} launch of {row['name'][:80]}"
            )
    return "the profiler's own buffer, to which torch books launches that came while it was made"
