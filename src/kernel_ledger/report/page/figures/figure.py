"""A figure: a table whose last column is drawn.  Marks are placed in per cent, so that any width works."""

from __future__ import annotations

from dataclasses import dataclass, field

from .axis import Axis, percent


@dataclass(frozen=True)
class Bar:
    """A rectangle of a row's plot; ``kind`` is its CSS class, ``title`` what pointing at it says."""

    x: str
    width: str
    y: int
    height: int
    kind: str
    title: str = ""
    label: str = ""


@dataclass(frozen=True)
class Mark:
    """A vertical line over a row's whole height."""

    x: str
    kind: str
    title: str = ""


@dataclass(frozen=True)
class FigureRow:
    """``dots``: an SVG path in a box 1000 wide and ``height`` high, of dots without length."""

    label: str
    cells: list[str]
    bars: list[Bar] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    dots: str = ""
    height: int = 26
    extra: bool = False


@dataclass(frozen=True)
class Figure:
    """``header``: of the label, the cells and the plot.  ``legend``: (kind, text).  ``sources``: file@hash."""

    kind: str
    title: str
    note: str
    header: list[str]
    rows: list[FigureRow]
    ticks: list[tuple[str, str]]
    legend: list[tuple[str, str]]
    sources: list[str]


def bar(axis: Axis, start: float, end: float, kind: str, title: str = "", *, y=4, height=18, label="") -> Bar:
    left, right = axis.share(start), axis.share(end)
    return Bar(percent(left), percent(max(right - left, 0)), y, height, kind, title, label)


def ticks(axis: Axis, text) -> list[tuple[str, str]]:
    return [(axis.at(value), "0" if value == 0 else text(value)) for value in axis.ticks()]


def sources(rows: list[dict], *columns: str) -> list[str]:
    """The source files of rows, once each."""
    return list(dict.fromkeys(row[column] for row in rows for column in columns if row[column]))
