#!/usr/bin/env python3
"""Redraws a run's headline figure from results.csv alone, as a report of your own would.

    python examples/headline.py reports/h200-reference/results.csv headline.png

Left: what one call of each variant takes on the GPU by Nsight Systems, the memory-bound chain apart from the rest,
and by CUDA events without any profiler.  Right: the chain by both books.  Needs pandas and matplotlib; the suffix
of the output (.png, .svg, .pdf) is its format.  docs/columns.md explains every column.
"""

# %% The table.  variant is text also where it looks like a number; an empty cell was not measured.
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd

plt.rcParams["text.parse_math"] = False  # a dollar sign in a name is no formula
if len(sys.argv) != 3:
    sys.exit(f"usage: {sys.argv[0]} RESULTS.csv OUTPUT.png|svg|pdf")
table, output = Path(sys.argv[1]), Path(sys.argv[2])
rows = pd.read_csv(table, dtype={"variant": "string", "name": "string", "reason": "string"})

# %% The first case that has a memory-bound chain, one line for each variant, as planned.
cases = rows[rows.level == "chain"].groupby(["workload", "case"], sort=False)
if not cases.ngroups:
    sys.exit(f"{table}: no case of this run has a memory-bound chain to draw")
(workload, case), _ = next(iter(cases))
own = rows[(rows.workload == workload) & (rows.case == case)]
block = own[own.level == "block"].set_index("variant")
chain = own[own.level == "chain"].set_index("variant").reindex(block.index)
milliseconds = 1e-6

# %% A figure is only as good as its rows: what is not verified is drawn pale.
strength = [1.0 if status == "verified" else 0.3 for status in block.status]
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 0.5 * len(block) + 2.2), sharey=True, layout="constrained"
)
place = range(len(block))
chain_ms = chain.nsys_median_ns.fillna(0) * milliseconds
rest_ms = block.nsys_median_ns * milliseconds - chain_ms
for y, rest, own_chain, alpha in zip(place, rest_ms, chain_ms, strength, strict=True):
    left.barh(y, rest, color="#8c96a3", alpha=alpha, label="the rest of the block (nsys)" if y == 0 else None)
    left.barh(
        y, own_chain, left=rest, color="#0072b2", alpha=alpha, label="its chain (nsys)" if y == 0 else None
    )
left.plot(
    block.event_median_ns * milliseconds, place, "k|", markersize=16, label="a whole call (CUDA events)"
)
left.set(
    yticks=place, yticklabels=block.index, xlabel="ms", title="One call,\nand the part that fusing can change"
)
left.invert_yaxis()

# %% Two books, one chain: they were recorded in different processes and must agree.
right.plot(chain.torch_median_ns * milliseconds, place, "o", color="#d55e00", markerfacecolor="none", markersize=11,
           label="torch.profiler")  # fmt: skip
right.plot(chain.nsys_median_ns * milliseconds, place, "x", color="#0072b2", label="Nsight Systems")
for y, (ns, fraction) in enumerate(zip(chain.nsys_median_ns, chain.fraction_of_copy, strict=True)):
    if pd.notna(fraction):
        right.annotate(
            f"{fraction:.0%} of copy", (ns * milliseconds, y), (9, -3), textcoords="offset points", size=8
        )
right.set(
    xlabel="ms",
    title="Its memory-bound chain, in both books,\nand its bandwidth against a copy",
    xlim=(
        0,
        1.4 * chain[["nsys_median_ns", "torch_median_ns"]].max(axis=None) * milliseconds,
    ),  # room for the labels
)

# %% Legends below, the source in the figure.
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.25), ncols=3, frameon=False, fontsize=8, markerscale=0.6
    )
figure.suptitle(f"{workload} · {case}   (run {own.run.iloc[0]}, {table.name})", fontsize=10)
figure.savefig(output, dpi=150)
