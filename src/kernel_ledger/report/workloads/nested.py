"""Why torch.profiler's column "total" adds up to more than the run, and "self" does not: from key_averages.csv."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ...plan_file import Plan, PlannedCase
from ..numbers import code, duration, quotient, ratio, table, text

COLUMNS = ("cpu_total_ns", "self_cpu_ns", "device_total_ns", "self_device_ns")
HEADER = [
    "row",
    "calls",
    "host total",
    "host self",
    "GPU total",
    "GPU self",
]  # the last two where there is a GPU
OPERATOR = re.compile(r"(aten|prims|torchvision|kernel_ledger)::\w+$")
CONVOLUTIONS = ("aten::conv2d", "aten::convolution", "aten::_convolution", "aten::cudnn_convolution",
                "aten::mkldnn_convolution")  # fmt: skip
REPEATED = (
    "Activity Buffer Request"  # a row that torch.profiler writes when its buffer was asked for in an operator
)
Table = Mapping[str, Mapping[str, int]]


def nested_lines(rows: list[dict], plan: Plan, captures: Path) -> Iterator[str]:
    for case in plan.cases:
        if "nested_time" in case.sections:
            variant = case.variants[0]
            path = captures / case.workload / case.case / "torch" / variant / "key_averages.csv"
            if path.is_file() and (averages := read_averages(path)):
                yield from case_lines(case, variant, averages, plan, gpu_time(rows, case, variant))


def gpu_time(rows: list[dict], case: PlannedCase, variant: str) -> int:
    """Nanoseconds of all GPU operations of a variant, each counted once, from torch's records."""
    own = [r for r in rows if (r["workload"], r["case"], r["variant"]) == (case.workload, case.case, variant)]
    return sum(r["torch_total_ns"] or 0 for r in own if r["level"] in ("kernel", "memory"))


def read_averages(path: Path) -> Table:
    """Operator or range -> its calls and times in ns; rows of the GPU (kernels, repeated ranges) are no operators.

    A range stands in the table once for the host and once for the GPU; the host's row is the one with host time.
    """
    found: dict[str, dict[str, int]] = {}
    with path.open(newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            if row.get("grouping") != "plain":
                continue
            values = {name: int(row[name]) for name in ("count", *COLUMNS)}
            known = found.get(row["name"])
            if known is None or values["cpu_total_ns"] > known["cpu_total_ns"]:
                found[row["name"]] = values
    return found


def case_lines(case: PlannedCase, variant: str, averages: Table, plan: Plan, gpu_ns: int) -> Iterator[str]:
    run = case.range_name(variant)
    operators = {name: row for name, row in averages.items() if OPERATOR.match(name)}
    ranges = [name for name in (run, "model_inference") if name in averages]
    if run not in averages or not operators:
        return
    sums = {column: sum(row[column] for row in operators.values()) for column in COLUMNS}
    yield from [
        "",
        f"## {text(case.workload)} · {text(case.case)}: nested times are counted again and again",
        "",
    ]
    shown = [*ranges, *(name for name in (*CONVOLUTIONS, REPEATED) if name in averages)]
    columns = COLUMNS if plan.device == "cuda" else COLUMNS[:2]
    lines = [
        [code(name), str(averages[name]["count"]), *(duration(averages[name][c]) for c in columns)]
        for name in shown
    ]
    lines.append(["all operators added up", "", *(duration(sums[c]) for c in columns)])
    yield from table(HEADER[: 2 + len(columns)], lines)
    yield ""
    side, total, own = ("GPU", "device_total_ns", "self_device_ns") if plan.device == "cuda" else (
        "host", "cpu_total_ns", "self_cpu_ns")  # fmt: skip
    whole = gpu_ns if plan.device == "cuda" else averages[run][total]
    chain = [name for name in CONVOLUTIONS if name in averages]
    yield (
        f"{' → '.join(map(code, chain))}: each calls the next, and the column {side} total gives every one of them the time "
        f"of the innermost. So that column adds up to {duration(sums[total])}, {ratio(quotient(sums[total], whole))} of the "
        f"{duration(whole)} that {code(run)} took. The column {side} self counts each moment once: it adds up "
        f"to {duration(sums[own])}, {ratio(quotient(sums[own], whole))}."
    )
    if plan.device == "cuda" and REPEATED in averages:
        yield from [
            "",
            f"{code(REPEATED)} is no operator: it repeats {duration(averages[REPEATED]['self_device_ns'])} of a kernel that an "
            "operator has already, and every total around it grows by as much. The books of this run do not use this table.",
        ]
