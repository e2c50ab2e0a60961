"""Rows of the level operator: torch knows operators, nsys knows their kernels.

An operator's nsys side is the sum of its kernels, where every launch of those kernels is its own.
"""

from __future__ import annotations

from ..capture import CaseEvidence
from ..columnar import joined
from ..evidence import statistics
from ..plan_file import Limits
from .groups import OUTSIDE, Group
from .operations import shapes
from .rows import Row, blank, say, settle
from .shared import limits_for


def operator_rows(case: CaseEvidence, groups: list[Group], iterations: int, limits: Limits) -> list[Row]:
    """One row for each operator that launched GPU work itself."""
    rows = []
    for variant in case.plan.variants:
        own = [g for g in groups if g.variant == variant and g.variant != OUTSIDE]
        for operator in sorted(
            {name for g in own for name in g.operators if name != case.plan.range_name(variant)}
        ):
            rows.append(operator_row(case, variant, operator, own, iterations, limits))
    return rows


def operator_row(
    case: CaseEvidence, variant: str, operator: str, groups: list[Group], iterations: int, limits: Limits
) -> Row:
    row = blank(case, variant, "operator", operator, iterations)
    mine = [g for g in groups if operator in g.operators]
    launched = [g.torch.where("operator", operator) for g in mine]
    row["operator"], row["input_shapes"] = operator, shapes(launched)
    row["torch_source"] = case.source(f"torch/{variant}/trace.json.gz")
    shared = sorted({g.title for g in mine if g.operators != (operator,)})
    torch = statistics(joined([ops.duration for ops in launched]))
    if shared and case.nsys is not None:
        unknown = [f"nsys cannot tell whose launches these are: {', '.join(shared)}"]
        settle(row, case, torch, None, limits, unknown)
        return row
    limits, remarks = limits_for(mine, limits)
    settle(row, case, torch, statistics(joined([g.nsys.duration for g in mine])), limits)
    say(row, remarks)
    row["nsys_source"] = case.source("nsys/report.sqlite") or None
    if row["status"] in ("torch_only", "nsys_only"):
        say(row, ["see the operator's kernel rows"])
    return row
