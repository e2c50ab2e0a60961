"""FLOP/s of each case, by events and by the host's clock, and the kernels that each shape and dtype picks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...errors import EvidenceError
from ...files import read_json
from ...kernel_names import library_name, spelling
from ...plan_file import Plan, PlannedCase
from ..numbers import MISSING, code, duration, quotient, table, text

NAME = 70  # characters of a kernel's name: its tile stands further back than its family
HEADER = [
    "case",
    "variant",
    "events",
    "host clock",
    "FLOP/s",
    "kernel",
    "tile",
    "depth",
    "stages",
    "launches",
]


def throughput_lines(rows: list[dict], plan: Plan, captures: Path) -> Iterator[str]:
    workloads = dict.fromkeys(c.workload for c in plan.cases if "kernel_names" in c.sections)
    for workload in workloads:
        lines = []
        for case in (c for c in plan.cases if c.workload == workload):
            lines += case_rows(rows, case, captures)
        yield from ["", f"## {text(workload)}: rates, and the kernels that each case picks", ""]
        yield from table(HEADER, lines)
        yield from [
            "",
            "Host clock: a call from an idle GPU to an idle GPU, launch and wait included. FLOP/s: by the events. Tile, depth "
            "and stages are read from the kernel's name, where it says them.",
        ]


def case_rows(rows: list[dict], case: PlannedCase, captures: Path) -> Iterator[list[str]]:
    """A row for each kernel of each variant; only the first of a variant repeats its times."""
    mine = [r for r in rows if (r["workload"], r["case"]) == (case.workload, case.case)]
    walls = wall_medians(captures / case.workload / case.case / "timing.json")
    for variant in case.compared():
        block = next(r for r in mine if (r["level"], r["variant"]) == ("block", variant))
        kernels = [r for r in mine if (r["level"], r["variant"]) == ("kernel", variant)]
        events = block["event_median_ns"]
        head = [
            text(case.case),
            code(variant),
            duration(events),
            duration(walls.get(variant)),
            flops_rate(quotient(case.flops, events)),
        ]
        for kernel in kernels or [None]:
            yield [*head, *kernel_cells(kernel)]
            head = [""] * len(head)


def kernel_cells(row: dict | None) -> list[str]:
    if row is None:
        return [MISSING] * 5
    said, calls = spelling(row["name"]), row["iterations"]
    launches = row["nsys_count"] if row["nsys_count"] is not None else row["torch_count"]
    return [
        code(library_name(row["name"])[:NAME]),
        MISSING if said.tile is None else f"{said.tile[0]}×{said.tile[1]}",
        MISSING if said.depth is None else str(said.depth),
        MISSING if said.stages is None else str(said.stages),
        MISSING if launches is None or not calls else f"{launches / calls:g}",
    ]


def wall_medians(path: Path) -> dict[str, float]:
    """Variant -> median of its calls by the host's clock; none of a capture without them."""
    try:
        timing = read_json(path, format=1)
    except EvidenceError:
        return {}
    return {v: e["wall_median_ns"] for v, e in timing.get("variants", {}).items() if "wall_median_ns" in e}


def flops_rate(per_ns: float | None) -> str:
    return MISSING if per_ns is None else f"{per_ns / 1e3:.3g} TFLOP/s"
