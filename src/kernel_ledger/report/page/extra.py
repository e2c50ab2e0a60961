"""Tables that other steps leave in the run folder: claims.csv, and fusion.csv with fusion candidates."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from ...reconcile.table import FORMULA

SIGNS = {"held": "✓", "refuted": "✗", "not tested": "?", "verified": "✓"}

# What a reader wants first; the other columns follow in the file's order.
LEADING = ("workload", "case", "sentence", "outcome", "measured")


@dataclass(frozen=True)
class ExtraTable:
    """A CSV as it is: its columns, and rows of (text, sign or None, number or None)."""

    source: str
    columns: list[str]
    rows: list[list[tuple[str, str | None, float | None]]]


def extra(folder: Path, name: str, workload: str | None = None, case: str | None = None) -> ExtraTable | None:
    """A CSV of the run folder, or None; with ``workload`` and ``case``, the rows of that case alone."""
    path = folder / name
    if not path.is_file():
        return None
    with path.open(newline="", encoding="utf-8", errors="replace") as stream:
        lines = list(csv.DictReader(stream, restval=""))
    if workload is not None:
        lines = [r for r in lines if (r.get("workload"), r.get("case")) == (workload, case)]
    hidden = {"run"} | ({"workload", "case"} if workload is not None else set())
    columns = [c for c in (lines[0] if lines else {}) if c and c not in hidden]
    columns.sort(key=lambda c: LEADING.index(c) if c in LEADING else len(LEADING))
    return ExtraTable(name, columns, [[cell(line[c]) for c in columns] for line in lines])


def cell(text: str) -> tuple[str, str | None, float | None]:
    """Text as it was before it was kept from being a spreadsheet's formula, its sign, its value."""
    if text.startswith("'") and text[1:].startswith(FORMULA):
        text = text[1:]
    try:
        return text, None, float(text)
    except ValueError:
        return text, SIGNS.get(text), None
