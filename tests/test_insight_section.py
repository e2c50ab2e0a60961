"""The end of summary.md, and the script of the rule insight."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kernel_ledger.report.insight import insight_section

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "reports" / "h200-reference"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports") / "again"
    (folder / "stacks").mkdir(parents=True)
    (folder / "stacks" / "old.svg").write_text("of an earlier run")
    shutil.copy(REFERENCE / "results.csv", folder)
    captures = REFERENCE / "captures"
    words = [
        sys.executable,
        ROOT / "scripts" / "insight.py",
        "--plan",
        captures / "plan.json",
        "--captures",
        captures,
    ]
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run([*words, "--run", folder], check=True, env=environ, timeout=100)
    return folder


def test_the_script_writes_every_file_and_leaves_none_of_an_earlier_run(run):
    names = {p.name for p in run.iterdir()}
    assert names == {"results.csv", "fusion.csv", "fusion_achieved.csv", "roofline.csv", "roofline.svg", "operators.csv",
                     "kernels.csv", "kernels", "stacks.csv", "stacks"}  # fmt: skip
    assert not list((run / "stacks").iterdir())


def test_the_summary_shows_the_chain_its_prediction_and_its_result(run):
    text = insight_section(run)
    assert "| 11.0 → 3.0 | 689.8 µs | 3.67× | 1.17× | known |" in text.replace("11 → 3", "11.0 → 3.0")
    assert "| 3.67× | 3.79× | +3.5 % | 1.17× | 1.18× |" in text
    assert "Not worth rewriting (library kernels): `aten::addmm`, `aten::mm`." in text


def test_a_run_without_these_files_has_no_such_section(tmp_path):
    assert insight_section(tmp_path) == ""
