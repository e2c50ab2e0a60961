"""Amdahl's bar: what a call spends in library kernels, in the chain and in gaps, and the ceiling of fusing."""

from __future__ import annotations

from dataclasses import dataclass

from ...numbers import MISSING, duration, quotient, ratio
from ..read import Case
from .axis import Axis, from_zero
from .figure import Figure, FigureRow, Mark, bar, sources, ticks


@dataclass(frozen=True)
class Split:
    """One call by nsys's book, in ns.  ``gaps``: between its first and last GPU operation; None: not recorded."""

    variant: str
    library: float
    chain: float | None
    gaps: float | None
    event: float | None

    @property
    def busy(self) -> float:
        return self.library + (self.chain or 0)


def split_of(variant: str, block: dict, chain: dict | None, span: dict | None) -> Split | None:
    if block["nsys_median_ns"] is None:
        return None
    of_chain = chain["nsys_median_ns"] if chain else None
    between = [span["gpu_span_ns"], span["gpu_busy_ns"]] if span else [None, None]
    gaps = None if None in between else between[0] - between[1]
    return Split(variant, block["nsys_median_ns"] - (of_chain or 0), of_chain, gaps, block["event_median_ns"])


def split_figure(case: Case) -> Figure | None:
    """Figure of the variants (not of the copy and its like), the first one's ceiling last."""
    blocks, chains, ranges = (case.by_variant(level) for level in ("block", "chain", "range"))
    variants = [v for v in blocks if not case.is_reference(v)]
    found = [split_of(v, blocks[v], chains.get(v), ranges.get(v)) for v in variants]
    splits = [split for split in found if split is not None]
    axis = from_zero(v for s in splits for v in (s.busy + (s.gaps or 0), s.event))
    if axis is None:
        return None
    rows = [split_row(axis, split, splits[0]) for split in splits]
    if splits[0].chain:
        rows.append(ceiling_row(axis, splits[0]))
    used = [level[v] for level in (blocks, chains, ranges) for v in variants if v in level]
    with_chain = any(split.chain is not None for split in splits)
    return Figure(
        kind="split",
        title="What fusing can win (Amdahl)" if with_chain else "What a call spends its time on",
        note=note(splits, with_chain),
        header=["variant", "library" if with_chain else "kernels", "chain", "gaps", "GPU busy", "faster", "GPU time of one call"],
        rows=rows,
        ticks=ticks(axis, duration),
        legend=[("library", "library kernels" if with_chain else "kernels"),
                *([("chain", "the chain")] if with_chain else []),
                ("gaps", "gaps between them"), ("event", "the call without a profiler (CUDA events)")],
        sources=["results.csv", *sources(used, "nsys_source")],
    )  # fmt: skip


def note(splits: list[Split], with_chain: bool) -> str:
    text = (
        "Medians of nsys's book: ratios here are of GPU time under a profiler, without gaps, and so differ a little from the "
        "headline's block ratio, which is of whole calls by CUDA events without one."
    )
    if with_chain and splits[0].chain and splits[0].library > 0:
        share, first = splits[0].chain / splits[0].busy, splits[0].variant
        text += (
            f" The chain is {share:.1%} of {first}'s GPU time, so that even a chain that took no time would make the "
            f"block only {ratio(1 / (1 - share))} as fast."
        )
    if any(s.gaps and s.gaps > 0.1 * s.busy for s in splits):
        text += " Gaps are as wide as a profiler makes them: where the event line is left of the bar's end, they are narrower."
    return text


def split_row(axis: Axis, split: Split, first: Split) -> FigureRow:
    parts, at = [], 0.0
    for kind, value in (("library", split.library), ("chain", split.chain), ("gaps", split.gaps)):
        if value is not None and value > 0:
            parts.append(bar(axis, at, at + value, kind, f"{kind}: {duration(value)}"))
            at += value
    marks = (
        []
        if split.event is None
        else [Mark(axis.at(split.event), "event", f"CUDA events: {duration(split.event)}")]
    )
    cells = [dash(split.library), dash(split.chain), dash(split.gaps), duration(split.busy),
             ratio(quotient(first.busy, split.busy)) if split.chain is not None else MISSING]  # fmt: skip
    return FigureRow(split.variant, cells, parts, marks)


def ceiling_row(axis: Axis, first: Split) -> FigureRow:
    """The first variant with a chain that takes no time."""
    bars = [bar(axis, 0, first.library, "library", f"library: {duration(first.library)}")]
    cells = [
        dash(first.library),
        "0",
        MISSING,
        duration(first.library),
        ratio(quotient(first.busy, first.library)),
    ]
    return FigureRow("ceiling: a chain of no time", cells, bars if first.library > 0 else [], extra=True)


def dash(value: float | None) -> str:
    return MISSING if value is None or value <= 0 else duration(value)
