"""results.csv: written through the csv machinery from validated rows, and read back by header name."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ..columns import BY_NAME, COLUMNS, KEY, LATER, NAMES, STATUSES
from ..errors import EvidenceError
from ..files import write_text
from .rows import Row

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def cell(value: object) -> str:
    """One cell.  Text that a spreadsheet would run as a formula is kept from it by a leading apostrophe."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value if value.startswith(FORMULA) else value
    return format(value, "f").rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def validate(rows: Sequence[Row]) -> None:
    """Refuse a table that breaks its own promises: that would be a defect of this program."""
    for row in rows:
        where = "/".join(str(row[k]) for k in KEY)
        if row["status"] not in STATUSES:
            raise AssertionError(f"{where}: status {row['status']!r}")
        due = [c.name for c in COLUMNS if row["level"] in c.levels and row[c.name] is None]
        if due and not row["reason"]:
            raise AssertionError(f"{where}: empty without a reason: {', '.join(due)}")
    doubled = [key for key, count in Counter(tuple(r[k] for k in KEY) for r in rows).items() if count > 1]
    if doubled:
        raise AssertionError(f"rows with one key: {doubled}")


def table_text(rows: Sequence[Row]) -> str:
    """The table as CSV text, lines ending in a newline."""
    validate(rows)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(NAMES)
    writer.writerows([cell(row[name]) for name in NAMES] for row in rows)
    return stream.getvalue()


def write_table(rows: Sequence[Row], path: Path) -> None:
    """Write results.csv whole or not at all."""
    write_text(path, table_text(rows))


def parse(name: str, text: str) -> object:
    """The value of a cell by its column's type; None for an empty one."""
    if text == "":
        return None if BY_NAME[name].type != "string" else ""
    kind = BY_NAME[name].type
    if kind == "integer":
        return int(text)
    if kind == "number":
        return float(text) if "." in text else int(text)
    if kind == "boolean":
        return text == "true"
    return text[1:] if text.startswith("'") and text[1:].startswith(FORMULA) else text


def read_table(path: Path) -> list[Row]:
    """Read results.csv by header name; an older table lacks the columns in ``LATER``.

    Raises EvidenceError on other missing or unknown columns.
    """
    with path.open(newline="", encoding="utf-8") as stream:
        reader = csv.DictReader(stream)
        there = set(reader.fieldnames or ())
        if there | set(LATER) != set(NAMES):
            raise other_columns(path, there)
        return [
            {name: parse(name, row[name]) if name in there else LATER[name] for name in NAMES}
            for row in reader
        ]


def other_columns(path: Path, there: set[str]) -> EvidenceError:
    """The error of a table of another version, by what it lacks and what it has too many."""
    missing = [name for name in NAMES if name not in there and name not in LATER]
    surplus = sorted(there - set(NAMES))
    told = [
        f"{what}: {', '.join(names)}" for what, names in (("missing", missing), ("surplus", surplus)) if names
    ]
    run = path.parent
    return EvidenceError(
        "this table has not the columns of this version",
        where=path,
        expected="the columns of docs/columns.md",
        found="; ".join(told),
        next_step="make it anew from the run's captures: "
        f"snakemake --cores 1 --config replay={run.as_posix()} run={run.name}-again",
    )
