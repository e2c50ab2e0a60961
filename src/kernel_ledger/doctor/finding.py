"""One line of what the doctor says: what was looked at, what was found, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass

SIGNS = {"good": "✓", "warning": "!", "missing": "✗", "note": "–"}
DEVICES = ("cuda", "cpu")


@dataclass(frozen=True)
class Line:
    """``status``: a key of SIGNS.  ``stops``: what cannot be done without it: measuring on "cuda" or on "cpu",
    or the "build" of the kernels; ``make_installs``: `make run` mends that by itself."""

    status: str
    what: str
    found: str
    advice: str = ""
    stops: tuple[str, ...] = ()
    make_installs: bool = False

    def __str__(self) -> str:
        advice = f" → {self.advice}" if self.advice else ""
        text = f"{SIGNS[self.status]} {self.what:<15} {self.found}{advice}"
        return "".join(c if c.isprintable() else " " for c in text)


def good(what: str, found: str) -> Line:
    return Line("good", what, found)


def note(what: str, found: str, advice: str = "") -> Line:
    return Line("note", what, found, advice)


def warning(what: str, found: str, advice: str) -> Line:
    return Line("warning", what, found, advice)


def missing(
    what: str, found: str, advice: str, *, stops: tuple[str, ...] = ("cuda",), make_installs: bool = False
) -> Line:
    return Line("missing", what, found, advice, stops, make_installs)
