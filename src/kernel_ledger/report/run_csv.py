"""Reads a CSV of the run folder as text, by header name."""

from __future__ import annotations

import csv
from pathlib import Path

from ..reconcile.table import FORMULA


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a file; none where there is no file."""
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as stream:
        return [{k: as_written(v) for k, v in row.items() if k} for row in csv.DictReader(stream, restval="")]


def as_written(text: str) -> str:
    """Text as it was before it was kept from being a spreadsheet's formula."""
    return text[1:] if text.startswith("'") and text[1:].startswith(FORMULA) else text
