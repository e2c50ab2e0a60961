"""Bytes that a chain must move, and its bandwidth beside that of a copy measured in the same process."""

from __future__ import annotations

from ...numbers import MISSING, duration, rate
from ..read import Case
from .axis import Axis, from_zero
from .figure import Figure, FigureRow, Mark, bar, sources, ticks

RESIDENT = " The working set fits the GPU's L2: this is no memory benchmark."


def traffic_figure(case: Case) -> Figure | None:
    rows = [r for r in case.level("chain") if r["achieved_bytes_per_s"]]
    copies = [r["copy_bytes_per_s"] for r in rows if r["copy_bytes_per_s"]]
    axis = from_zero([*(r["achieved_bytes_per_s"] for r in rows), *copies])
    if axis is None:
        return None
    resident = RESIDENT if any(r["cache_resident"] for r in rows) else ""
    return Figure(
        kind="traffic",
        title="Bytes and bandwidth of the chain",
        note=f"Bytes by the traffic model, over nsys's median time; the line is a copy of the same tensors.{resident}",
        header=["variant", "bytes a call", "time", "bandwidth", "of copy", "bytes a second"],
        rows=[traffic_row(axis, row) for row in rows],
        ticks=ticks(axis, rate),
        legend=[("chain", "the chain"), *([("event", "the copy of this run")] if copies else [])],
        sources=["results.csv", *sources(rows, "nsys_source")],
    )


def traffic_row(axis: Axis, row: dict) -> FigureRow:
    achieved, copy, share = row["achieved_bytes_per_s"], row["copy_bytes_per_s"], row["fraction_of_copy"]
    cells = [f"{row['model_bytes'] / 2**20:,.1f} MiB", duration(row["nsys_median_ns"]), rate(achieved),
             MISSING if share is None else f"{share:.1%}"]  # fmt: skip
    marks = [Mark(axis.at(copy), "event", f"copy: {rate(copy)}")] if copy else []
    return FigureRow(row["variant"], cells, [bar(axis, 0, achieved, "chain", rate(achieved))], marks)
