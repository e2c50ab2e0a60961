"""A repeat of a pass, through its script: a folder of its own, and its place in the order in its record."""

import datetime
import json
import subprocess
import sys

import pytest
from pass_runs import ROOT, command, run_script, write_plan

pytest.importorskip("torch")


def test_a_second_repeat_lies_beside_the_first_and_knows_its_place(tmp_path):
    plan, case = write_plan(tmp_path)
    _, folder = run_script(tmp_path, "timing", plan, case)
    before = (folder / "timing.json").read_bytes()
    words, _ = command(tmp_path, "timing", plan, case)
    finished = subprocess.run(
        [*words, "--repeat", "2"], cwd=tmp_path, capture_output=True, text=True, timeout=100
    )
    assert finished.returncode == 0 and f"timing tiny/{case} repeat 2" in finished.stderr
    assert (folder / "timing.json").read_bytes() == before
    assert sorted(p.name for p in (folder / "repeat-2").iterdir()) == ["run.json", "timing.json"]
    first, second = (json.loads((place / "run.json").read_text()) for place in (folder, folder / "repeat-2"))
    # timing, three variants, nsys; then the other way round: timing is the last of ten
    assert [(r["repeat"], r["order"]) for r in (first, second)] == [(1, 1), (2, 10)]
    started = [datetime.datetime.fromisoformat(r["started"]) for r in (first, second)]
    assert started[0] < started[1] and started[0].tzinfo is not None


def test_numerics_has_no_repeats(tmp_path):
    words = [sys.executable, ROOT / "scripts/numerics.py", "--repeat", "2"]
    finished = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert finished.returncode == 2
