"""Fusion as the summary and the page tell it: candidates, library kernels, prediction beside result.

Inputs: rows of fusion.csv and fusion_achieved.csv, as text.  Cells are plain text, for each form to escape.
"""

from __future__ import annotations

from collections.abc import Sequence

from .numbers import MISSING, duration, ratio

Row = dict[str, str]
CANDIDATES = ("where", "operators", "kernels", "tensors moved", "GPU time", "chain, predicted", "whole call, predicted",
              "use counts")  # fmt: skip
ACHIEVED = ("variant", "chain, predicted", "chain, achieved", "residual", "call, predicted", "call, achieved")
TEXTS = ("where", "operators", "variant", "use counts")
NONE = "None: no two neighbouring memory-bound kernels hand a tensor of known size to each other. See fusion.csv."
MOVED = (
    "Tensors moved: numbers read and written, before and after, over those of the largest tensor. The chain's time is taken"
    " to go as its bytes, the rest of the call to stay (Amdahl)."
)
ASSUMED = (
    "Use counts `unknown`: no data flow was recorded, so that each intermediate is assumed to be read by the next kernel"
    " alone."
)
MOST = 10


def number(row: Row, name: str) -> float | None:
    return float(row[name]) if row[name] else None


def candidates(rows: Sequence[Row]) -> list[Row]:
    """What could be fused, the greatest gain of a whole call first."""
    found = (row for row in rows if row["kind"] == "candidate")
    return sorted(found, key=lambda r: (-(number(r, "predicted_block_ratio") or 0), *r.values()))


def libraries(rows: Sequence[Row]) -> list[str]:
    """Operators whose kernels come from libraries, once each."""
    return list(dict.fromkeys(row["operators"] for row in rows if row["kind"] == "library"))


def moved(found: Sequence[Row]) -> str:
    """What the numbers of the candidates mean, and how many are not shown."""
    return MOVED + (f" {len(found) - MOST} more are in fusion.csv." if len(found) > MOST else "")


def any_assumed(found: Sequence[Row]) -> bool:
    return any(row["use_count"] == "unknown" for row in found)


def place(row: Row) -> str:
    return f"{row['workload']} / {row['case']} / {row['variant']}"


def candidate_cells(row: Row) -> list[str]:
    """One entry for each of CANDIDATES."""
    operators = row["operators"]
    return [
        place(row),
        operators if len(operators) < 160 else operators[:159] + "…",
        row["kernels"],
        f"{row['per_element_before']} → {row['per_element_after']}",
        duration(number(row, "gpu_ns")),
        ratio(number(row, "predicted_chain_ratio")),
        ratio(number(row, "predicted_block_ratio")),
        row["use_count"],
    ]


def achieved_cells(row: Row) -> list[str]:
    """One entry for each of ACHIEVED."""
    names = ("predicted_chain_ratio", "achieved_chain_ratio", "predicted_block_ratio", "achieved_block_ratio")
    predicted, achieved, whole, came = (ratio(number(row, name)) for name in names)
    residual = MISSING if not row["residual_pct"] else f"{float(row['residual_pct']):+.1f} %"
    return [place(row), predicted, achieved, residual, whole, came]
