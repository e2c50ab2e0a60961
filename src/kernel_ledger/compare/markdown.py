"""comparison.md: the outcome first, then what changed, then the blocks and chains of every variant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..report.numbers import MISSING, code, duration, percent, table, text
from .comparison import ComparedRow, Comparison
from .words import SIGNS, headline, interval, method, verdict_sentence

HEADER = ["verdict", "variant, level", "name", "base", "new", "change", "interval", "margin"]
TEXTS = 3  # of them, at the left
NAME_CHARACTERS = 80
CHANGED = ("slower", "vanished", "ambiguous", "faster", "appeared")


def markdown(comparison: Comparison) -> str:
    return "\n".join(lines(comparison)) + "\n"


def lines(comparison: Comparison) -> Iterator[str]:
    yield from (f"# {text(headline(comparison))}", "", text(verdict_sentence(comparison)), "")
    if comparison.refusals:
        yield from table(
            ["condition", "base", "new", "where"],
            [[code(d.key), text(str(d.base)), text(str(d.new)), text(d.where)] for d in comparison.refusals],
            left=4,
        )
        yield ""
    yield from (f"- warning: {text(warning)}" for warning in comparison.warnings)
    yield ""
    if comparison.outcome == "refused":
        return
    changed = [row for row in comparison.rows if row.verdict in CHANGED]
    yield from section(comparison, "What changed, or may have", changed)
    yield from section(
        comparison,
        "Blocks and chains",
        [r for r in comparison.rows if r.level in ("block", "chain") and r not in changed],
    )
    yield from ("", f"All {len(comparison.rows)} rows are in comparison.csv. {method(comparison)}")


def section(comparison: Comparison, title: str, rows: Sequence[ComparedRow]) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    if not rows:
        yield "None."
    for case in comparison.cases():
        own = [row for row in rows if row.key[:2] == case]
        if own:
            yield from (
                text(" · ".join(case)),
                "",
                *table(HEADER, [line(row) for row in own], left=TEXTS),
                "",
            )
            yield from reasons(own)


def reasons(rows: Sequence[ComparedRow]) -> Iterator[str]:
    told = [row for row in rows if row.judgement.reason]
    yield from (
        f"- {code(row.key[2])} {code(short(row.key[4]))}: {text(row.judgement.reason)}" for row in told
    )
    yield from [""] if told else []


def line(row: ComparedRow) -> list[str]:
    found = row.judgement
    return [
        SIGNS[row.verdict],
        f"{code(row.key[2])} {row.level}",
        code(short(row.key[4])),
        duration(row.base_ns),
        duration(row.new_ns),
        percent(found.change_pct),
        interval(row),
        MISSING if found.margin_pct is None else f"{found.margin_pct:.2f} %",
    ]


def short(name: str, most: int = NAME_CHARACTERS) -> str:
    """A kernel's name as far as a table bears it; comparison.csv has the whole."""
    return name if len(name) <= most else name[: most - 1] + "…"
