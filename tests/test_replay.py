"""The recorded H200 run, read again where nothing can be measured, as `make run` does it."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from workflow_copy import PARTS, ROOT

from kernel_ledger.files import read_json
from kernel_ledger.reconcile import read_table

REFERENCE = ROOT / "reports/h200-reference"
WITHOUT_TORCH = "import sys; sys.modules['torch'] = None"


@pytest.fixture(scope="module")
def replayed(tmp_path_factory):
    """A copy of the checkout in which the reference run was replayed; torch cannot be imported there."""
    folder = tmp_path_factory.mktemp("a checkout with spaces")
    for part in PARTS:
        source = ROOT / part
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / part)
    shutil.copytree(REFERENCE, folder / "reports/h200-reference")
    (folder / "hidden").mkdir()
    (folder / "hidden/sitecustomize.py").write_text(WITHOUT_TORCH)
    started = time.monotonic()
    done = snakemake(folder)
    return folder, done, time.monotonic() - started


def snakemake(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--config"]
    command += ["replay=reports/h200-reference", "run=again"]
    environment = os.environ | {"PYTHONPATH": str(folder / "hidden")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def without_run(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return [{k: v for k, v in row.items() if k != "run"} for row in csv.DictReader(stream)]


def test_the_recorded_run_is_verified_again_within_a_minute(replayed):
    folder, done, seconds = replayed
    assert done.returncode == 0, done.stdout + done.stderr
    assert read_json(folder / "reports/again/verdict.json")["verdict"] == "verified"
    assert seconds < 60


def test_the_table_is_the_committed_one_byte_for_byte_but_for_the_name_of_the_run(replayed):
    folder, _, _ = replayed
    again = (folder / "reports/again/results.csv").read_bytes()
    committed = (REFERENCE / "results.csv").read_bytes()
    assert again.replace(b"\nagain,", b"\nh200-reference,") == committed
    assert len(without_run(REFERENCE / "results.csv")) > 50


def test_a_second_replay_has_nothing_to_do(replayed):
    folder, _, _ = replayed
    done = snakemake(folder)
    assert done.returncode == 0 and "Nothing to be done" in done.stdout + done.stderr


def test_the_replay_leaves_the_recorded_run_as_it_was(replayed):
    folder, _, _ = replayed
    names = sorted(p.relative_to(REFERENCE) for p in REFERENCE.rglob("*") if p.is_file())
    assert names == sorted(
        p.relative_to(folder / "reports/h200-reference")
        for p in (folder / "reports/h200-reference").rglob("*")
        if p.is_file()
    )
    assert all(
        (REFERENCE / n).read_bytes() == (folder / "reports/h200-reference" / n).read_bytes() for n in names
    )


def test_the_reference_shows_what_the_project_promises():
    rows = {(r["variant"], r["level"], r["name"]): r for r in read_table(REFERENCE / "results.csv")}
    kernels = [r for r in rows.values() if r["level"] == "kernel" and r["nsys_median_ns"] > 20_000]
    assert len(kernels) >= 15 and all(abs(r["difference_pct"]) < 1 for r in kernels)
    for book in "torch_median_ns", "nsys_median_ns":
        eager, fused = rows["eager", "chain", "eager"][book], rows["fused", "chain", "fused"][book]
        assert eager / fused >= 11 / 3
        assert fused <= rows["add", "chain", "add"][book]


def test_the_reference_is_small_and_carries_no_machine(replayed):
    files = [p for p in REFERENCE.rglob("*") if p.is_file()]
    assert sum(p.stat().st_size for p in files) < 2_000_000
    assert any(p.suffix == ".nsys-rep" for p in files)
    for path in files:
        content = path.read_bytes()
        assert not any(word in content for word in (b"/root", b"/home/", b"/work", b"SECRET", b"TOKEN=")), (
            path
        )
