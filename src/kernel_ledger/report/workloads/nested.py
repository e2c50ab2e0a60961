"""Why torch.profiler's column "total" adds up to more than the run, and "self" does not: from key_averages.csv."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ...plan_file import Plan, PlannedCase
from ..numbers import code, duration, quotient, ratio, table, text

COLUMNS = ("cpu_total_ns", "self_cpu_ns", "device_total_ns", "self_device_ns")
HEADER = ["row", "calls", "host total", "host self", "GPU total", "GPU self"]
OPERATOR = re.compile(r"(aten|prims|torchvision|kernel_ledger)::\w+$")
CONVOLUTIONS = ("aten::conv2d", "aten::convolution", "aten::_convolution", "aten::cudnn_convolution",
                "aten::mkldnn_convolution")  # fmt: skip
Table = Mapping[str, Mapping[str, int]]


def nested_lines(rows: list[dict], plan: Plan, captures: Path) -> Iterator[str]:
    for case in plan.cases:
        if "nested_time" in case.sections:
            variant = case.variants[0]
            path = captures / case.workload / case.case / "torch" / variant / "key_averages.csv"
            if path.is_file() and (averages := read_averages(path)):
                yield from case_lines(case, variant, averages, plan)


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


def case_lines(case: PlannedCase, variant: str, averages: Table, plan: Plan) -> Iterator[str]:
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
    shown = [*ranges, *(name for name in CONVOLUTIONS if name in averages)]
    lines = [
        [code(name), str(averages[name]["count"]), *(duration(averages[name][c]) for c in COLUMNS)]
        for name in shown
    ]
    lines.append(["all operators added up", "", *(duration(sums[c]) for c in COLUMNS)])
    yield from table(HEADER, lines)
    yield ""
    side, total, own = ("GPU", "device_total_ns", "self_device_ns") if plan.device == "cuda" else (
        "host", "cpu_total_ns", "self_cpu_ns")  # fmt: skip
    whole = averages[run][total]
    chain = [name for name in CONVOLUTIONS if name in averages]
    yield (
        f"{' → '.join(map(code, chain))}: each calls the next, and the column {side} total gives every one of them the time "
        f"of the innermost. So that column adds up to {duration(sums[total])}, {ratio(quotient(sums[total], whole))} of the "
        f"{duration(whole)} of {code(run)}. The column {side} self counts each moment once, where it was spent: it adds up "
        f"to {duration(sums[own])}, {ratio(quotient(sums[own], whole))}."
    )
