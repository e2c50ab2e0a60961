"""comparison.html: the same in one file without script or network, with each interval drawn beside its margin."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from ..report.numbers import MISSING, duration, percent
from .chart import chart
from .comparison import ComparedRow, Comparison
from .markdown import NAME_CHARACTERS, short
from .words import SIGNS, headline, interval, method, verdict_sentence

WIDTH, HEIGHT, MIDDLE = 200, 16, 8  # of a drawn interval, in pixels
LEAST_SPAN_PCT = 5.0
STYLE = """
:root { color-scheme: light dark; --line: #8886; --slow: #c2410c; --fast: #0369a1; --plain: #777 }
@media (prefers-color-scheme: dark) { :root { --slow: #fb923c; --fast: #38bdf8; --plain: #aaa } }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 82rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100% } h2 { font-size: 1rem; margin: 1.6rem 0 .4rem }
th, td { padding: .25rem .5rem; border-bottom: 1px solid var(--line); vertical-align: top }
th, td { text-align: right; white-space: nowrap }
td.name { white-space: normal; text-align: left; min-width: 14rem; overflow-wrap: anywhere }
td.name { font-family: ui-monospace, monospace; font-size: 12px }
th:nth-child(-n+3), th:last-child, td:nth-child(-n+2), .verdict { text-align: left }
tr.slower td.verdict { color: var(--slow); font-weight: 600 } tr.faster td.verdict { color: var(--fast); font-weight: 600 }
svg rect { fill: var(--line) } svg line { stroke: var(--plain); stroke-width: 2 } svg circle { fill: var(--plain) }
tr.slower line { stroke: var(--slow) } tr.slower circle { fill: var(--slow) }
tr.faster line { stroke: var(--fast) } tr.faster circle { fill: var(--fast) }
.forced { border: 2px solid var(--slow); padding: .6rem } .wide { overflow-x: auto } summary { cursor: pointer }
.chart text { fill: currentColor; font-size: 12px }
.chart .slower line { stroke: var(--slow) } .chart .slower circle { fill: var(--slow) }
.chart .faster line { stroke: var(--fast) } .chart .faster circle { fill: var(--fast) }
.chart line.axis { stroke: var(--line); stroke-width: 1 }
 small { display: block }
"""


def page(comparison: Comparison) -> str:
    title = escape(headline(comparison))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n"
        + "\n".join(body(comparison))
        + "\n</body></html>\n"
    )


def body(comparison: Comparison) -> Iterator[str]:
    kind = ' class="forced"' if comparison.forced else ""
    yield f"<p{kind}>{escape(verdict_sentence(comparison))}</p>"
    notes = [f"{d.where}: {d.key}: {d.base} → {d.new}" for d in comparison.refusals]
    notes += [f"warning: {warning}" for warning in comparison.warnings]
    if notes:
        yield "<ul>" + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>"
    yield from chart(comparison.rows)
    span = max([LEAST_SPAN_PCT, *(abs(v) * 1.05 for r in comparison.rows for v in limits(r))])
    for case in comparison.cases() if comparison.rows else ():
        yield from case_tables(case, [r for r in comparison.rows if r.key[:2] == case], span)
    yield f"<p>{escape(method(comparison))}</p>"


def limits(row: ComparedRow) -> tuple[float, ...]:
    found = row.judgement
    return tuple(v for v in (found.low_pct, found.high_pct, found.margin_pct) if v is not None)


def case_tables(case: tuple[str, ...], rows: list[ComparedRow], span: float) -> Iterator[str]:
    """What is not the same, open; what is the same, folded away."""
    same = [row for row in rows if row.verdict == "same"]
    odd = [row for row in rows if row.verdict != "same"]
    yield f"<h2>{escape(' · '.join(case))}</h2>"
    if odd:
        yield from row_table(odd, span)
    if same:
        yield f'<details class="same"><summary>{len(same)} rows are the same in both runs</summary>'
        yield from row_table(same, span)
        yield "</details>"


def row_table(rows: list[ComparedRow], span: float) -> Iterator[str]:
    header = [
        "variant",
        "level",
        "name",
        "base",
        "new",
        "change",
        "interval",
        f"± {span:.0f} %",
        "margin",
        "verdict",
    ]
    yield '<div class="wide"><table>'
    yield (
        "<thead><tr>"
        + "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
        + "</tr></thead><tbody>"
    )
    for row in rows:
        found = row.judgement
        margin = MISSING if found.margin_pct is None else f"{found.margin_pct:.2f} %"
        cells = [duration(row.base_ns), duration(row.new_ns), percent(found.change_pct), interval(row)]
        reason = f"<small>{escape(found.reason)}</small>" if found.reason else ""
        yield (
            f'<tr class="{row.verdict}"><td>{escape(row.key[2])}</td><td>{escape(row.level)}</td>'
            f'<td class="name">{name(row.key[4])}{reason}</td>'
            + "".join(f"<td>{escape(text)}</td>" for text in cells)
            + f'<td>{drawing(row, span)}</td><td>{escape(margin)}</td><td class="verdict">{escape(SIGNS[row.verdict])}</td></tr>'
        )
    yield "</tbody></table></div>"


def name(whole: str) -> str:
    """A name, whole; a long one only after a click."""
    if len(whole) <= NAME_CHARACTERS:
        return escape(whole)
    return f"<details><summary>{escape(short(whole))}</summary>{escape(whole)}</details>"


def drawing(row: ComparedRow, span: float) -> str:
    """The interval as a line over the margin's band, both from -span to +span."""
    found = row.judgement
    if (
        found.low_pct is None
        or found.high_pct is None
        or found.margin_pct is None
        or found.change_pct is None
    ):
        return ""

    def x(value: float) -> float:
        return round(WIDTH * (value + span) / (2 * span), 1)

    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{escape(interval(row), quote=True)}">'
        f'<rect x="{x(-found.margin_pct)}" y="1" width="{round(WIDTH * found.margin_pct / span, 1)}" height="{HEIGHT - 2}"/>'
        f'<line x1="{x(found.low_pct)}" x2="{x(found.high_pct)}" y1="{MIDDLE}" y2="{MIDDLE}"/>'
        f'<circle cx="{x(found.change_pct)}" cy="{MIDDLE}" r="3"/></svg>'
    )
