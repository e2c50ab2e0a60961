"""Numbers as people read them; a missing one is a dash, never a zero."""

from __future__ import annotations

import re
from collections.abc import Iterable

MISSING = "–"
UNITS = (("ms", 1e6), ("µs", 1e3))


def duration(nanoseconds: float | None) -> str:
    """A duration in the unit that reads best: ns, µs or ms."""
    if nanoseconds is None:
        return MISSING
    for unit, size in UNITS:
        if nanoseconds >= size:
            return f"{nanoseconds / size:.4g} {unit}"
    return f"{nanoseconds:.4g} ns"


def unit_for(times: Iterable[float | None]) -> tuple[str, float]:
    """(unit, its size in ns) in which the least of these durations is not below 1."""
    least = min((time for time in times if time), default=0)
    return next((unit for unit in UNITS if least >= unit[1]), ("ns", 1))


def fixed(column: Iterable[float | None], size: float, decimals: int = 1) -> list[str]:
    """A column of numbers in one unit of this size, all with the same decimals."""
    return [MISSING if value is None else f"{value / size:.{decimals}f}" for value in column]


def share(value: float | None) -> str:
    """A part of a whole, in percent."""
    return MISSING if value is None else f"{100 * value:.1f} %"


def ratio(value: float | None) -> str:
    return MISSING if value is None else f"{value:.2f}×"


def percent(value: float | None) -> str:
    return MISSING if value is None else f"{value:+.2f} %"


def rate(bytes_per_s: float | None) -> str:
    return MISSING if bytes_per_s is None else f"{bytes_per_s / 1e12:.2f} TB/s"


def quotient(above: float | None, below: float | None) -> float | None:
    return above / below if above and below else None


def on_one_line(value: str) -> str:
    """Text without line breaks and without characters that steer a terminal or turn the writing direction."""
    return "".join(c if c.isprintable() else "\ufffd" for c in " ".join(value.split()))


def text(value: str) -> str:
    """Text from a capture made inert in Markdown and HTML, on one line."""
    escaped = on_one_line(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for character in "\\`*_[]|~":
        escaped = escaped.replace(character, "\\" + character)
    return escaped


def code(value: str, *, cell: bool = True) -> str:
    """A name as inline code: nothing in it is markup.

    ``cell``: in a table, where a bar would end the cell; elsewhere a backslash before it would be shown.
    """
    inert = on_one_line(value)
    if cell:
        inert = inert.replace("\\|", "\\ |").replace("|", "\\|")  # a bar after a backslash would end the cell
    longest = max(map(len, re.findall("`+", inert)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {inert} {fence}" if longest or not inert.strip() else f"{fence}{inert}{fence}"


def shortened(value: str, most: int = 240) -> str:
    """Text cut where it is long, at a word."""
    flat = on_one_line(value)
    return flat if len(flat) <= most else flat[:most].rsplit(" ", 1)[0].rstrip(",;:") + " …"


def table(header: list[str], rows: list[list[str]], *, left: int = 1) -> list[str]:
    """A Markdown table, its first columns to the left and the others to the right."""
    rule = ["---"] * left + ["---:"] * (len(header) - left)
    return ["| " + " | ".join(line) + " |" for line in [header, rule, *rows]]
