"""Every timed call of every variant: how far from its variant's median, in the order in which it was taken."""

from __future__ import annotations

from statistics import median, quantiles

from ...numbers import duration
from ..read import Case, Timing, decode
from .axis import Axis, around_zero
from .figure import Figure, FigureRow, Mark, bar, ticks

LEAST_PCT = 0.1


def samples_figure(case: Case) -> Figure | None:
    """Figure of timing.json (of each repeat), or None where there is none."""
    read = {r: case.attempt("block times", lambda r=r: decode(case.folder / f"{r}timing.json", Timing))
            for r in case.repeats()}  # fmt: skip
    timed = {r: t for r, t in read.items() if t is not None}
    lanes = [(variant, repeat, t.variants[variant].samples_ns)
             for variant in dict.fromkeys([*case.variants, *(v for t in timed.values() for v in t.variants)])
             for repeat, t in timed.items() if variant in t.variants and t.variants[variant].samples_ns]  # fmt: skip
    lanes = [lane for lane in lanes if median(lane[2]) > 0]
    if not lanes:
        return None
    axis = around_zero([d for _, _, samples in lanes for d in deviations(samples)], LEAST_PCT)
    timers = " and ".join(dict.fromkeys(t.timer for t in timed.values() if t.timer))
    bent = " The axis is logarithmic outside its middle, so that every sample is on it." if axis.bend else ""
    return Figure(
        kind="samples",
        title="Time of a whole call",
        note=f"One dot is one call ({timers or 'unknown timer'}, no profiler in the process), from the first above to the "
        f"last below; the box holds the middle half.{bent}",
        header=["variant", "median", "MAD", "min", "max", "calls", "distance from the variant's median"],
        rows=[lane_row(axis, *lane) for lane in lanes],
        ticks=ticks(axis, lambda v: f"{v:+.3g} %"),
        legend=[("dot", "one call"), ("box", "middle half"), ("zero", "median")],
        sources=[case.source(f"{repeat}timing.json") for repeat in timed],
    )


def deviations(samples: list[int]) -> list[float]:
    middle = median(samples)
    return [100 * (sample - middle) / middle for sample in samples]


def lane_row(axis: Axis, variant: str, repeat: str, samples: list[int]) -> FigureRow:
    middle, found = median(samples), deviations(samples)
    spread = median(abs(sample - middle) for sample in samples)
    height = 40
    bars = []
    if len(samples) > 3:
        low, _, high = quantiles(found, n=4, method="inclusive")
        bars = [bar(axis, low, high, "box", f"{low:+.3f} to {high:+.3f} %", y=2, height=height - 4)]
    label = f"{variant} · {repeat.rstrip('/')}" if repeat else variant
    cells = [
        duration(middle),
        duration(spread),
        duration(min(samples)),
        duration(max(samples)),
        str(len(samples)),
    ]
    return FigureRow(label, cells, bars, [Mark(axis.at(0), "zero")], dots(axis, found, height), height)


def dots(axis: Axis, found: list[float], height: int) -> str:
    """A path of points, from top to bottom in the order of measurement."""
    step = (height - 10) / max(len(found) - 1, 1)
    return "".join(f"M{axis.share(d) * 10:.0f} {5 + step * i:.1f}h0" for i, d in enumerate(found))
