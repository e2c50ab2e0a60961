"""A picture of the rows that are not the same: each with its interval over its margin, all on one axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import floor, log10

from .comparison import ComparedRow
from .markdown import short
from .words import SIGNS, interval

MOST_ROWS = 30
LABEL, PLOT, SIDE, STEP, TOP = 430, 520, 40, 20, 24  # widths and heights in pixels
LABEL_CHARACTERS = 60
LEAST_SPAN_PCT = 5.0


def chart(rows: Sequence[ComparedRow]) -> Iterator[str]:
    """One SVG, or nothing where every row is the same or has no interval."""
    odd = [row for row in rows if row.verdict != "same" and row.judgement.low_pct is not None]
    if not odd:
        return
    drawn = odd[:MOST_ROWS]
    span = max([LEAST_SPAN_PCT, *(1.05 * abs(v) for row in drawn for v in ends(row))])
    width, height = LABEL + PLOT + SIDE, TOP + STEP * len(drawn) + 6
    more = f", the first {MOST_ROWS} of {len(odd)}" if len(odd) > MOST_ROWS else ""
    yield f"<h2>Change of every row that is not the same{more}; grey: the margin</h2>"
    yield (
        f'<div class="wide"><svg class="chart" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'role="img" aria-label="intervals of the rows that are not the same">'
    )
    for value in ticks(span):
        x = place(value, span)
        yield f'<line class="axis" x1="{x}" x2="{x}" y1="{TOP - 6}" y2="{height - 4}"/>'
        yield f'<text x="{x}" y="{TOP - 10}" text-anchor="middle">{f"{value:+g}" if value else 0} %</text>'
    for number, row in enumerate(drawn):
        yield one_row(row, TOP + STEP * number + STEP / 2, span)
    yield "</svg></div>"


def ticks(span: float) -> list[float]:
    """Round changes in % on both sides of 0, at most three on each."""
    power = 10.0 ** floor(log10(span / 3))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor * 4 > span)
    return [round(number * step, 6) for number in range(-3, 4) if abs(number * step) <= span]


def one_row(row: ComparedRow, y: float, span: float) -> str:
    low, high, margin = ends(row)
    label = " ".join((*row.key[2:4], row.key[4] if row.key[4] != row.key[2] else ""))
    left, right = place(-margin, span), place(margin, span)
    told = f"{'/'.join(row.key[:5])}: {SIGNS[row.verdict]}, {interval(row)}"
    return (
        f'<g class="{row.verdict}"><title>{escape(told)}</title>'
        f'<text x="{LABEL - 8}" y="{y + 4}" text-anchor="end">{escape(short(label.strip(), LABEL_CHARACTERS))}</text>'
        f'<rect x="{left}" y="{y - 7}" width="{round(right - left, 1)}" height="14"/>'
        f'<line x1="{place(low, span)}" x2="{place(high, span)}" y1="{y}" y2="{y}"/>'
        f'<circle cx="{place(row.judgement.change_pct or 0, span)}" cy="{y}" r="3"/></g>'
    )


def ends(row: ComparedRow) -> tuple[float, float, float]:
    """Both limits and the margin, in %, of a row that has an interval."""
    found = row.judgement
    return found.low_pct or 0, found.high_pct or 0, found.margin_pct or 0


def place(value: float, span: float) -> float:
    """Where a change in % lies, in pixels from the left."""
    return round(LABEL + PLOT * (value + span) / (2 * span), 1)
