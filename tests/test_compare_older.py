"""Runs of earlier versions, and replays of runs: what a comparison still reads, and where it sends its reader."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_compare import ROOT, base, compared, enough_samples, healthy, new  # noqa: F401

from kernel_ledger.columns import LATER, NAMES
from kernel_ledger.errors import EvidenceError
from kernel_ledger.files import read_json, sha256
from kernel_ledger.reconcile import read_table


def with_columns(run: Path, lacking=(), surplus=()) -> None:
    """Write a run's table as another version would have, and have its verdict vouch for it."""
    table = run / "results.csv"
    with table.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    names = [name for name in rows[0] if name not in lacking] + list(surplus)
    with table.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, names, extrasaction="ignore", restval="1")
        writer.writeheader()
        writer.writerows(rows)
    verdict = read_json(run / "verdict.json")
    verdict["files"]["results.csv"] = sha256(table)
    (run / "verdict.json").write_text(json.dumps(verdict))


def replay(run: Path, again: Path) -> Path:
    command = [sys.executable, ROOT / "scripts/reconcile.py", "--plan", run / "captures/plan.json"]
    subprocess.run([*command, "--captures", run / "captures", "--output", again], check=True)
    return again


def test_a_table_from_before_the_ranks_is_that_of_one_process_and_comparable(base, new):  # noqa: F811
    with_columns(base, lacking=LATER)
    assert {(row["rank"], row["device"]) for row in read_table(base / "results.csv")} == {(0, None)}
    _, done = compared(base, new)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("lacking", "surplus", "told"),
    [
        (["status"], [], "missing: status"),
        ([], ["mood"], "surplus: mood"),
        (["rank", "grid"], ["mood"], "grid; surplus"),
    ],
)
def test_a_table_of_another_version_says_what_it_lacks_or_has_too_many_and_how_to_make_it_anew(
    base,  # noqa: F811
    lacking,
    surplus,
    told,
):
    with_columns(base, lacking, surplus)
    with pytest.raises(EvidenceError) as error:
        read_table(base / "results.csv")
    assert told in str(error.value) and f"replay={base.as_posix()} run=a-again" in str(error.value)
    assert "missing: rank" not in str(error.value) and set(LATER) < set(NAMES)


def test_a_replay_is_compared_by_the_captures_that_it_replayed(base, new):  # noqa: F811
    again = replay(base, base.with_name("again"))
    assert read_json(again / "verdict.json")["replay_of"]["captures"] == "../a/captures"
    _, done = compared(again, new)
    assert done.returncode == 0, done.stderr


def test_a_run_with_captures_of_its_own_is_no_replay(base):  # noqa: F811
    assert "replay_of" not in read_json(base / "verdict.json")


def test_a_replay_of_captures_that_were_measured_anew_since_is_refused(base, new):  # noqa: F811
    again = replay(base, base.with_name("again"))
    record = next((base / "captures").rglob("run.json"))
    record.write_text(record.read_text() + " ")
    _, done = compared(again, new)
    assert done.returncode == 2 and "measured anew" in done.stderr


@pytest.mark.parametrize("noted", [True, False])
def test_a_replay_whose_captures_are_not_there_says_how_to_get_them(base, new, noted):  # noqa: F811
    again = replay(base, base.with_name("again"))
    if not noted:
        verdict = read_json(again / "verdict.json")
        del verdict["replay_of"]
        (again / "verdict.json").write_text(json.dumps(verdict))
    shutil.rmtree(base)
    _, done = compared(again, new)
    assert done.returncode == 2 and "next:" in done.stderr and "--config replay=" in done.stderr
    assert not noted or "a/captures" in done.stderr
