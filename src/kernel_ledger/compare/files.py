"""What a comparison leaves in its folder: comparison.md, .html, .csv and .json."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from ..files import write_json, write_text
from ..reconcile.table import cell
from .columns import COLUMNS, values
from .comparison import Comparison
from .html import page
from .markdown import markdown

FORMAT = 1  # of comparison.json; 1: the first
NAMES = ("comparison.md", "comparison.html", "comparison.csv", "comparison.json")


def write(comparison: Comparison, folder: Path) -> None:
    """Write all four files, comparison.json last; also of a refused comparison, so that none of an older one stays."""
    (folder / "comparison.json").unlink(missing_ok=True)
    write_text(folder / "comparison.md", markdown(comparison))
    write_text(folder / "comparison.html", page(comparison))
    write_text(folder / "comparison.csv", table(comparison))
    write_json(folder / "comparison.json", summary(comparison))


def table(comparison: Comparison) -> str:
    """comparison.csv: a row for each row of either run."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([column.name for column in COLUMNS])
    for row in map(values, comparison.rows):
        writer.writerow([cell(row[column.name]) for column in COLUMNS])
    return stream.getvalue()


def summary(comparison: Comparison) -> dict:
    """comparison.json: the outcome for programs."""
    return {
        "format": FORMAT,
        "base": comparison.base.folder.as_posix(),
        "new": comparison.new.folder.as_posix(),
        "outcome": comparison.outcome,
        "exit_status": comparison.exit_status,
        "forced": comparison.forced,
        "refusals": [vars(difference) for difference in comparison.refusals],
        "warnings": list(comparison.warnings),
        "margins": vars(comparison.margins),
        "counts": comparison.counts(),
    }
