"""What other programs read of a run: the schema, the typed twin, the page of columns, the example."""

from __future__ import annotations

import csv
import runpy
import subprocess
import sys
from pathlib import Path

import capture_factory as factory
import pandas as pd
import pyarrow.parquet as pq
import pytest

from kernel_ledger.columns import COLUMNS, NAMES, table_schema
from kernel_ledger.columns_page import COMMAND, PAGE, page
from kernel_ledger.compare.columns import COLUMNS as OF_COMPARISON
from kernel_ledger.files import read_json
from kernel_ledger.reconcile import read_table

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "reports/h200-reference/results.csv"
FIELD_TYPES = {"string", "number", "integer", "boolean"}  # of Table Schema, those that this table needs


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A run folder made by the rule's script from a capture that was written for tests."""
    folder = tmp_path_factory.mktemp("reports") / "made"
    captures = factory.written(folder)
    command = [sys.executable, ROOT / "scripts/reconcile.py", "--plan", captures / "plan.json"]
    subprocess.run([*command, "--captures", captures, "--output", folder], check=True)
    return folder


def test_the_schema_is_a_table_schema_of_the_table_it_lies_beside(run):
    schema = read_json(run / "results.schema.json")
    assert schema == table_schema()
    with (run / "results.csv").open(newline="") as stream:
        assert next(csv.reader(stream)) == [field["name"] for field in schema["fields"]]
    assert {field["type"] for field in schema["fields"]} <= FIELD_TYPES
    assert set(schema["primaryKey"]) <= set(NAMES) and schema["missingValues"] == [""]


@pytest.mark.parametrize("column", [*COLUMNS, *OF_COMPARISON], ids=lambda column: column.name)
def test_every_column_says_what_it_means_and_in_which_unit(column):
    assert len(column.meaning) > 5
    units = {"_ns": "ns", "_pct": "%", "_bytes": "byte", "_per_s": "byte/s"}
    for suffix, unit in units.items():
        assert not column.name.endswith(suffix) or (column.unit or "").startswith(unit)


def test_every_cell_of_the_table_has_the_type_that_the_schema_says(run):
    read = {
        "string": str,
        "integer": int,
        "number": float,
        "boolean": {"true": True, "false": False}.__getitem__,
    }
    fields = read_json(run / "results.schema.json")["fields"]
    for table in (run / "results.csv", REFERENCE):
        with table.open(newline="") as stream:
            for row in csv.DictReader(stream):
                for field in fields:
                    if cell := row[field["name"]]:
                        read[field["type"]](cell)
                        assert cell in field.get("constraints", {}).get("enum", [cell])


def test_the_parquet_twin_holds_the_same_rows_with_types_and_units(run):
    twin = pq.read_table(run / "results.parquet")
    rows = [{k: (v if v is not None else "") for k, v in row.items()} for row in twin.to_pylist()]
    table = [
        {k: (v if v is not None else "") for k, v in row.items()} for row in read_table(run / "results.csv")
    ]
    assert rows == table and len(rows) > 10
    field = twin.schema.field("nsys_median_ns")
    assert field.metadata[b"unit"] == b"ns" and field.metadata[b"description"]


def test_pandas_reads_both_to_the_same_numbers(run):
    one, other = pd.read_csv(run / "results.csv"), pd.read_parquet(run / "results.parquet")
    assert list(one.columns) == list(other.columns) == list(NAMES)
    for name in ("nsys_median_ns", "torch_count", "difference_pct"):
        assert one[name].astype(float).equals(other[name].astype(float))


def test_the_verdict_vouches_for_the_twin_too(run):
    assert set(read_json(run / "verdict.json")["files"]) >= {
        "results.csv",
        "results.parquet",
        "results.schema.json",
    }


def test_the_page_of_columns_is_the_generated_one():
    assert (ROOT / PAGE).read_text() == page(), f"run {COMMAND}"


def test_the_check_of_that_page_names_the_command_that_repairs_it(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / PAGE).write_text("old\n")
    command = [sys.executable, "-m", "kernel_ledger.columns_page", "--check", "--repository", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and COMMAND in done.stdout and (tmp_path / PAGE).read_text() == "old\n"


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_the_example_redraws_the_headline_figure_from_the_table_alone(tmp_path, suffix):
    table = tmp_path / "results.csv"
    table.write_bytes(REFERENCE.read_bytes())
    output = tmp_path / f"headline.{suffix}"
    done = subprocess.run(
        [sys.executable, ROOT / "examples/headline.py", table, output],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert output.stat().st_size > 10_000 and done.stderr == ""


def test_the_example_says_where_there_is_nothing_to_draw(tmp_path):
    table = tmp_path / "results.csv"
    lines = REFERENCE.read_text().splitlines()
    table.write_text("\n".join([lines[0], *(line for line in lines[1:] if ",chain," not in line)]) + "\n")
    done = subprocess.run(
        [sys.executable, ROOT / "examples/headline.py", table, tmp_path / "a.png"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and "no case of this run has a memory-bound chain" in done.stderr


@pytest.mark.parametrize("given", [[], ["results.csv"], ["one", "two", "three"]])
def test_the_example_says_how_it_is_called(given):
    done = subprocess.run(
        [sys.executable, ROOT / "examples/headline.py", *given], capture_output=True, text=True
    )
    assert done.returncode != 0 and "usage: " in done.stderr and "Traceback" not in done.stderr


def test_every_label_of_the_figure_lies_within_its_axes(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["headline.py", str(REFERENCE), str(tmp_path / "a.png")])
    drawn = runpy.run_path(str(ROOT / "examples/headline.py"))
    figure, axes = drawn["figure"], drawn["right"]
    figure.canvas.draw()
    frame = axes.get_window_extent()
    boxes = [label.get_window_extent() for label in axes.texts]
    assert len(boxes) > 3 and all(frame.x0 <= box.x0 and box.x1 <= frame.x1 for box in boxes)
