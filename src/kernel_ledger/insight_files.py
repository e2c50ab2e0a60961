"""The files of the rule insight, each from the cases of a run.  A file without rows keeps its header."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import fusion as fusing
from . import kineto, nvtx_operators
from . import roofline as roofs
from . import stacks as stacking
from .errors import EvidenceError
from .evidence import Book
from .files import write_text
from .fusion import achieved, candidates
from .insight import CaseInsight, write_rows
from .kernel_code import table as kernel_table
from .ranks.split import first_rank

STACK_COLUMNS = (
    "run",
    "workload",
    "case",
    "variant",
    "measure",
    "total_ns",
    "stacks",
    "svg",
    "speedscope",
    "reason",
)
Row = dict[str, Any]


def fusion(run: Path, cases: Sequence[CaseInsight]) -> None:
    """fusion.csv and fusion_achieved.csv; of the CPU, which has no kernels, there is nothing to say."""
    found: list[Row] = []
    came_of: list[Row] = []
    for case in cases if not on_cpu(cases) else ():
        for variant in case.plan.compared():
            identity = case.identity(run.name, variant)
            if variant in case.unreadable:
                found.append(identity | {"kind": "unknown", "reason": case.unreadable[variant]})
            else:
                found += fusing.candidate_rows(identity, case.steps[variant], case.row(variant, "block"))
        came_of += fusing.achieved_rows(
            case.identity(run.name), case.plan, case.steps, case.rows, case.l2_bytes
        )
    write_rows(run / "fusion.csv", candidates.COLUMNS, found)
    write_rows(run / "fusion_achieved.csv", achieved.COLUMNS, came_of)


def on_cpu(cases: Sequence[CaseInsight]) -> bool:
    return all(case.device == "cpu" for case in cases)


def roofline(run: Path, cases: Sequence[CaseInsight], table: Sequence[Row]) -> None:
    """roofline.csv and its picture."""
    found = [
        p for c in cases for p in roofs.points(c.identity(run.name), c.plan, c.steps, c.rows, c.expected)
    ]
    roofs.enter_roofs(found, table)
    write_rows(run / "roofline.csv", roofs.COLUMNS, found)
    write_text(run / "roofline.svg", roofs.picture(run.name, found))


def operators(run: Path, cases: Sequence[CaseInsight], emitted: bool) -> None:
    """operators.csv.  ``emitted``: the nsys pass ran with emit_nvtx."""
    found: list[Row] = []
    for case in cases:
        announced = frozenset(map(case.plan.range_name, case.plan.variants))
        nsys = readable(
            lambda case=case, names=announced: first_rank(case.folder / "nsys" / "report.sqlite", names)
        )
        for variant in case.plan.variants:
            trace = case.folder / "torch" / variant / "trace.json.gz"
            torch = readable(lambda path=trace, names=announced: kineto.read(path, names))
            if torch is not None:
                identity = case.identity(run.name, variant)
                found += nvtx_operators.operator_rows(identity, case.plan, variant, torch, nsys, emitted)
    write_rows(run / "operators.csv", nvtx_operators.COLUMNS, found)


def readable(read: Any) -> Book | None:
    """A book, None where it cannot be read; the verdict has said why."""
    try:
        return read()
    except EvidenceError:
        return None


def kernels(run: Path, cases: Sequence[CaseInsight], captures: Path) -> None:
    """kernels.csv, and the PTX of each custom kernel in kernels/."""
    folder = fresh(run / "kernels")
    launched = kernel_table.launched_kernels({case.plan.label: case.steps for case in cases})
    code, notes = kernel_table.read_code(captures / kernel_table.RECORD)
    rows, files = kernel_table.kernel_rows(run.name, launched, code, notes)
    for name, text in files.items():
        write_text(folder / name, text)
    write_rows(run / "kernels.csv", kernel_table.COLUMNS, rows)


def stacks(run: Path, cases: Sequence[CaseInsight]) -> None:
    """stacks.csv, and for each variant whose trace has Python frames a flame graph and a file for speedscope."""
    folder, rows = fresh(run / "stacks"), []
    for case in cases:
        for variant in case.steps:
            row = case.identity(run.name, variant)
            trace = case.folder / "torch" / variant / "trace.json.gz"
            found = stacking.read_stacks(trace, case.plan.range_name(variant), case.device)
            row |= {"measure": found.measure, "stacks": len(found.weights), "reason": found.reason}
            if found.weights:
                name = f"{case.plan.workload}.{case.plan.case}.{variant}"
                title = f"{case.plan.label}/{variant}"
                write_text(folder / f"{name}.svg", stacking.flame_graph(title, found))
                write_text(folder / f"{name}.speedscope.json", stacking.speedscope(title, found))
                row |= {"total_ns": sum(found.weights.values()), "svg": f"stacks/{name}.svg"}
                row["speedscope"] = f"stacks/{name}.speedscope.json"
            rows.append(row)
    write_rows(run / "stacks.csv", STACK_COLUMNS, rows)


def fresh(folder: Path) -> Path:
    """An empty folder: nothing of an earlier run stays in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
