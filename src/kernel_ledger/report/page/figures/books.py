"""The chain in both books side by side, and how far apart the books are for every kernel."""

from __future__ import annotations

from ...numbers import MISSING, duration, percent
from ..read import Case
from .axis import Axis, around_zero, from_zero
from .figure import Figure, FigureRow, Mark, bar, sources, ticks

BOOKS = (("torch", "torch.profiler"), ("nsys", "Nsight Systems"))


def books_figure(case: Case) -> Figure | None:
    """Median chain time of both books; where a case has no chain, its blocks' GPU time."""
    level = "chain" if case.level("chain") else "block"
    rows = [r for r in case.level(level) if r["torch_median_ns"] or r["nsys_median_ns"]]
    axis = from_zero([r[f"{book}_max_ns"] for r in rows for book, _ in BOOKS])
    if axis is None:
        return None
    what = "chain" if level == "chain" else "whole call on the GPU"
    return Figure(
        kind="books",
        title=f"The {what} in both books",
        note="GPU time of one call: bars are medians, whiskers the least and the greatest call.",
        header=["variant", "torch", "nsys", "difference", "may differ by", "status", "GPU time of one call"],
        rows=[books_row(axis, row) for row in rows],
        ticks=ticks(axis, duration),
        legend=list(BOOKS),
        sources=["results.csv", *sources(rows, "torch_source", "nsys_source")],
    )


def books_row(axis: Axis, row: dict) -> FigureRow:
    bars = []
    for index, (book, title) in enumerate(BOOKS):
        middle, low, high = (row[f"{book}_{what}_ns"] for what in ("median", "min", "max"))
        if middle is None:
            continue
        text = f"{title}: {duration(middle)} ({duration(low)} to {duration(high)})"
        bars.append(bar(axis, 0, middle, book, text, y=3 + 14 * index, height=11))
        bars.append(bar(axis, low, high, "whisker", text, y=7 + 14 * index, height=3))
    cells = [duration(row["torch_median_ns"]), duration(row["nsys_median_ns"]), percent(row["difference_pct"]),
             tolerance(row), row["status"]]  # fmt: skip
    return FigureRow(row["variant"], cells, bars, height=31)


def tolerance(row: dict) -> str:
    return MISSING if row["tolerance_pct"] is None else f"±{row['tolerance_pct']:.3g} %"


def differences_figure(case: Case) -> Figure | None:
    """torch against nsys for every kernel and copy: a line each, in the band that still balances."""
    rows = [r for r in case.level("kernel", "memory") if r["difference_pct"] is not None]
    if not rows:
        return None
    values = [r["difference_pct"] for r in rows] + [
        s * (r["tolerance_pct"] or 0) for r in rows for s in (-1, 1)
    ]
    axis = around_zero(values, 0.1)
    variants = dict.fromkeys(r["variant"] for r in rows)
    return Figure(
        kind="differences",
        title="Difference of the books, every kernel",
        note="100 × (torch median − nsys median) ÷ nsys median; one line is one kernel or copy. Point at it for its name."
        + (" The axis is logarithmic outside its middle." if axis.bend else ""),
        header=["variant", "kinds", "greatest difference", "torch − nsys"],
        rows=[differences_row(axis, v, [r for r in rows if r["variant"] == v]) for v in variants],
        ticks=ticks(axis, lambda v: f"{v:+.3g} %"),
        legend=[("kernel", "one kernel or copy"), ("band", "still balances")],
        sources=["results.csv", *sources(rows, "torch_source", "nsys_source")],
    )


def differences_row(axis: Axis, variant: str, rows: list[dict]) -> FigureRow:
    widest = max(r["tolerance_pct"] or 0 for r in rows)
    marks = [Mark(axis.at(r["difference_pct"]), "kernel", f"{r['name'][:100]}: {percent(r['difference_pct'])}")
             for r in rows]  # fmt: skip
    greatest = max((r["difference_pct"] for r in rows), key=abs)
    return FigureRow(
        variant or "(outside every range)",
        [str(len(rows)), percent(greatest)],
        [bar(axis, -widest, widest, "band", f"±{widest:.3g} %", y=2, height=22)],
        [Mark(axis.at(0), "zero"), *marks],
    )
