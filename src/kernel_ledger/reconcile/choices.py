"""A variant that ran other kernels here than there: shown, never averaged.

Autotuning and heuristics may choose differently in another process.  What two processes did then is not the same
work, so a whole call's times have nothing to balance with.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..capture import CaseEvidence
from .groups import OUTSIDE, Group
from .rows import Row, say

CALLS = ("block", "chain")
CAUSE = "autotuning or a heuristic chose differently, or a name was changed; never averaged"


def tell_choices(case: CaseEvidence, groups: Sequence[Group], rows: Sequence[Row]) -> None:
    """Give the reason to the rows of kernels that ran in one book or in some repeats only.

    A call that contains such kernels is not verified.
    """
    for variant in case.plan.variants:
        kernels = [g for g in groups if g.variant == variant != OUTSIDE and g.level == "kernel"]
        alone = {g.title for g in kernels if not g.torch or not g.nsys}
        reasons = [between_books(variant, kernels)] if case.nsys and variant in case.torch else []
        reasons += [case.pooled.choices.get(variant)] if case.pooled else []
        if not (reasons := [reason for reason in reasons if reason]):
            continue
        for row in (r for r in rows if r["variant"] == variant):
            if row["level"] in CALLS:
                row["status"] = "disagree" if row["status"] == "verified" else row["status"]
                say(row, reasons)
            elif row["level"] == "kernel" and (row["name"] in alone or row["status"] == "disagree"):
                say(row, reasons)


def between_books(variant: str, kernels: Sequence[Group]) -> str | None:
    """A sentence where each book has kernels of a variant that the other lacks; None otherwise.

    Kernels that only one book lacks are lost, not chosen.
    """
    torch = sorted(g.title for g in kernels if not g.nsys)
    nsys = sorted(g.title for g in kernels if not g.torch)
    if not torch or not nsys:
        return None
    return f"variant {variant} ran other kernels in the two passes (torch {named(torch)}; nsys {named(nsys)}): {CAUSE}"


def between_repeats(variant: str, repeats: Sequence[Sequence[Row]]) -> str | None:
    """A sentence where a variant's kernels are not the same in all repeats; None otherwise.

    ``repeats``: the rows of each.  Only kernels that both books have are compared: the others say so themselves.
    """
    ran = [
        {r["name"] for r in rows if r["variant"] == variant and r["level"] == "kernel" and in_both(r)}
        for rows in repeats
    ]
    changing = sorted(set.union(*ran) - set.intersection(*ran))
    if not changing:
        return None
    where = [
        f"{named([name])} only in {', '.join(str(n) for n, names in enumerate(ran, 1) if name in names)}"
        for name in changing
    ]
    return f"variant {variant} ran other kernels in the repeats ({'; '.join(where)}): {CAUSE}"


def in_both(row: Row) -> bool:
    return bool(row["torch_count"] and row["nsys_count"])


def named(names: Sequence[str], most: int = 3, width: int = 80) -> str:
    """The first few names, cut where they are long."""
    shown = [name if len(name) <= width else name[: width - 1] + "…" for name in names[:most]]
    return ", ".join(shown) + (f" and {len(names) - most} more" if len(names) > most else "")
