"""Traces and exports in, rows and verdict out: what a user reads of a small capture."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import capture_factory as factory
import pytest

from kernel_ledger.files import read_json
from kernel_ledger.reconcile import read_table

ROOT = Path(__file__).parents[1]


@pytest.fixture
def ledger(tmp_path):
    """A function that writes scenarios, reconciles them, and returns (rows, verdict)."""

    def run(*scenarios):
        captures = factory.written(tmp_path, *scenarios)
        return reconciled(captures, tmp_path / "out")

    return run


def reconciled(captures: Path, output: Path):
    command = [sys.executable, ROOT / "scripts/reconcile.py", "--plan", captures / "plan.json"]
    command += ["--captures", captures, "--output", output]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return read_table(output / "results.csv"), read_json(output / "verdict.json")


def statuses(verdict):
    return {c["id"]: c["status"] for c in verdict["checks"]}


def test_a_healthy_capture_is_verified_in_every_row_and_check(ledger):
    rows, verdict = ledger()
    assert [r for r in rows if r["status"] != "verified"] == []
    assert verdict["verdict"] == "verified", verdict
