"""Numbers as people read them; a missing one is a dash, never a zero."""

from __future__ import annotations

MISSING = "–"


def duration(nanoseconds: float | None) -> str:
    """A duration in the unit that reads best: ns, µs or ms."""
    if nanoseconds is None:
        return MISSING
    for unit, size in (("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.4g} {unit}"
    return f"{nanoseconds:.4g} ns"


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
    for character in "\\`*_[]|":
        escaped = escaped.replace(character, "\\" + character)
    return escaped


def code(value: str) -> str:
    """A name as inline code: nothing in it is markup, and a cell's bar is not the table's."""
    inert = on_one_line(value).replace("`", "'").replace("\\|", "\\ |")  # a bar after a backslash would end the cell
    return "`" + inert.replace("|", "\\|") + "`"


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    """A Markdown table, its first column to the left and the others to the right."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return ["| " + " | ".join(line) + " |" for line in [header, rule, *rows]]
