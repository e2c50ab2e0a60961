"""A trend as SVG: each run's median call with its interval, the levels, and the first run of each new level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import floor, log10
from statistics import median

from .trend import VERIFIED, Trend

WIDTH, PANEL, LEFT, RIGHT, TOP, GAP = 960, 190, 78, 24, 66, 44
INK, FAINT, DATA, LEVEL, MARK = "#1f2430", "#d7dae0", "#2563a8", "#7a8190", "#b3261e"
STYLE = f"text{{font:12px system-ui,sans-serif;fill:{INK}}} .t{{font-size:15px;font-weight:600}} .m{{fill:{MARK}}}"


def picture(trends: Sequence[Trend], last: int) -> str:
    """The variants of one case on one machine, a panel each, the last ``last`` runs of each."""
    height = TOP + len(trends) * (PANEL + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">',
        f'<style>{STYLE}</style><rect width="100%" height="100%" fill="#fff"/>',
        text(LEFT, 24, f"{trends[0].title} on {trends[0].machine}: median call of each run, ms", "t"),
        text(
            LEFT,
            42,
            "bar: where the median may lie, 95 %; hollow: not verified; red: the first run of a new level",
        ),
    ]
    for number, trend in enumerate(trends):
        parts += panel(trend, TOP + number * (PANEL + GAP), last)
    return "\n".join([*parts, "</svg>", ""])


def panel(trend: Trend, top: float, last: int) -> Iterator[str]:
    """One variant: axes, levels, points with intervals, marks."""
    first = max(0, len(trend.points) - last)
    shown = trend.points[first:]
    low, high = limits(shown)
    step = (WIDTH - LEFT - RIGHT) / max(len(shown), 1)

    def x(index: float) -> float:
        return LEFT + (index - first + 0.5) * step

    def y(ns: float) -> float:
        return top + 16 + (PANEL - 16) * (1 - (min(max(ns, low), high) - low) / (high - low))

    yield text(LEFT, top + 8, trend.variant)
    for tick in ticks(low, high):
        yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="{FAINT}"/>'
        yield text(LEFT - 8, y(tick) + 4, f"{tick / 1e6:.5g}", anchor="end")
    yield from levels(trend, first, x, y)
    for index, point in enumerate(shown, first):
        yield from run(point, x(index), y, min(4.0, max(1.2, step / 3)))
    for change in trend.changes:
        if change.index >= first:
            yield from mark(trend, change, x(change.index - 0.5), top)
    ends = sorted({first, len(trend.points) - 1})
    for index, anchor in zip(ends, ("start", "end"), strict=False):
        place = LEFT if anchor == "start" else WIDTH - RIGHT
        yield text(place, top + PANEL + 16, label(trend.points[index]), anchor=anchor)


def run(point: dict, x: float, y, radius: float) -> Iterator[str]:
    median_ns, verified = point["event_median_ns"], point["verdict"] == VERIFIED
    low, high = point["event_low_ns"], point["event_high_ns"]
    if low is not None and high is not None:
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y(low):.1f}" y2="{y(high):.1f}" stroke="{DATA}" opacity=".55"/>'
    fill = DATA if verified else "#fff"
    told = f"{point['run']}: {median_ns / 1e6:.6g} ms, {point['verdict']}"
    yield (
        f'<circle cx="{x:.1f}" cy="{y(median_ns):.1f}" r="{radius:.1f}" fill="{fill}" stroke="{DATA}">'
        f"<title>{escape(told)}</title></circle>"
    )


def levels(trend: Trend, first: int, x, y) -> Iterator[str]:
    """A line at the median of the verified runs between two changes."""
    edges = [0, *(change.index for change in trend.changes), len(trend.points)]
    for start, end in zip(edges, edges[1:], strict=False):
        own = [p["event_median_ns"] for p in trend.points[start:end] if p["verdict"] == VERIFIED]
        if own and end > first:
            place = y(median(own))
            yield (
                f'<line x1="{x(max(start, first) - 0.5):.1f}" x2="{x(end - 0.5):.1f}" y1="{place:.1f}" y2="{place:.1f}"'
                f' stroke="{LEVEL}" stroke-width="1.5"/>'
            )


def mark(trend: Trend, change, x: float, top: float) -> Iterator[str]:
    dashes = "" if change.confirmed else ' stroke-dasharray="3 3"'
    yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top + 12}" y2="{top + PANEL}" stroke="{MARK}"{dashes}/>'
    told = f"{change.pct:+.1f} % since {trend.points[change.index]['run']}" + (
        "" if change.confirmed else "?"
    )
    beyond = x > WIDTH * 0.7
    yield text(x + (-6 if beyond else 6), top + 8, told, "m", anchor="end" if beyond else "start")


def limits(points: Sequence[dict]) -> tuple[float, float]:
    """From the least to the greatest median, with a margin; far intervals are cut at the edge."""
    values = [p["event_median_ns"] for p in points]
    low, high = min(values), max(values)
    margin = max((high - low) * 0.25, median(values) * 0.01)
    return low - margin, high + margin


def ticks(low: float, high: float) -> Iterator[float]:
    """Three to six round values between two others."""
    raw = (high - low) / 4
    unit = 10 ** floor(log10(raw))
    step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= raw)
    value = (floor(low / step) + 1) * step
    while value < high:
        yield value
        value += step


def label(point: dict) -> str:
    return f"{point['run']} {(point['measured_at'] or '')[:10]}".strip()


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    kinds = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kinds}>{escape(words)}</text>'
