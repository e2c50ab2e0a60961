"""All rows of one case, in a total order."""

from __future__ import annotations

from ..capture import CaseEvidence
from ..columns import LEVELS
from ..plan_file import Plan
from ..traffic import enter_traffic
from .calls import block_row, chain_row
from .choices import tell_choices
from .groups import group
from .operations import alone_by_name, operation_row, unseen_rows
from .operators import operator_rows
from .pool import pool
from .ranges import range_row
from .rows import Row
from .shared import mark


def reconcile_case(plan: Plan, case: CaseEvidence) -> list[Row]:
    """The evidence of one case -> its rows of the result table: those of every rank; repeats are pooled."""
    return [row for part in case.ranks for row in rows_of_process(plan, part)]


def rows_of_process(plan: Plan, case: CaseEvidence) -> list[Row]:
    if not case.further:
        return rows_of(plan, case)
    return rows_of(plan.of_all_repeats(case.plan), pooled(plan, case))


def pooled(plan: Plan, case: CaseEvidence) -> CaseEvidence:
    """All repeats of a case as one; each is reconciled on its own first, and its differences are kept."""
    return pool(case, [rows_of(plan, repeat) for repeat in case.repeats])


def rows_of(plan: Plan, case: CaseEvidence) -> list[Row]:
    """The rows of one repeat, or of pooled ones.

    Every GPU operation of either book is counted in exactly one row of the levels kernel and memory.
    """
    groups, iterations, limits = group(case), plan.iterations, plan.limits
    if (case.plan.world_size or 1) > 1:
        mark(groups)
    rows = []
    for variant in case.plan.variants:
        own = [g for g in groups if g.variant == variant]
        rows.append(block_row(case, variant, own, iterations, limits))
        if variant in case.plan.traffic:
            rows.append(chain_row(case, variant, own, iterations, limits))
        rows.append(range_row(case, variant, iterations))
    rows += operator_rows(case, groups, iterations, limits)
    alone = alone_by_name(groups)
    rows += [operation_row(case, g, id(g) in alone, iterations, limits) for g in groups]
    rows += unseen_rows(case, groups, iterations, limits)
    tell_choices(case, groups, rows)
    enter_traffic(case, rows)
    order = {v: i for i, v in enumerate(case.plan.variants)}
    return sorted(rows, key=lambda row: sort_key(row, order))


def sort_key(row: Row, order: dict[str, int]) -> tuple:
    """By variant as planned, level, greatest time first, then name: no two rows compare equal."""
    time = max(row["torch_total_ns"] or 0, row["nsys_total_ns"] or 0)
    return (order.get(row["variant"], len(order)), LEVELS.index(row["level"]), -time, row["name"])
