"""This workflow as a module of another one, in another folder: that folder gets the results, ours stays as it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from workflow_copy import planned_jobs

from kernel_ledger.files import read_json

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "reports/h200-reference"
SNAKEFILE = """\
configfile: "settings.yaml"


module ledger:
    snakefile:
        "{snakefile}"
    config:
        config["ledger"]


use rule * from ledger as ledger_*


rule paper:
    default_target: True
    input:
        rules.ledger_all.input,
        "reports/from-elsewhere/results.csv",
    output:
        "paper.txt",
    shell:
        "wc -l {{input[0]}} > {{output}}"
"""


@pytest.fixture
def elsewhere(tmp_path):
    """A function that writes the other workflow with the settings given, and runs it."""
    folder = tmp_path / "another workflow"
    folder.mkdir()
    (folder / "Snakefile").write_text(SNAKEFILE.format(snakefile=ROOT / "Snakefile"))

    def run(settings: str, *arguments: str) -> tuple[Path, subprocess.CompletedProcess[str]]:
        (folder / "settings.yaml").write_text(f"ledger:\n  run: from-elsewhere\n{settings}")
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        command = [sys.executable, "-m", "snakemake", "--cores", "1", *arguments]
        return folder, subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=180,
        )

    return run


def test_another_workflow_replays_the_recorded_run_and_goes_on_from_its_table(elsewhere):
    before = sorted((ROOT / "reports").iterdir())
    folder, done = elsewhere(f"  replay: {REFERENCE}\n")
    assert done.returncode == 0, done.stdout
    assert read_json(folder / "reports/from-elsewhere/verdict.json")["verdict"] == "verified"
    assert (folder / "paper.txt").read_text().strip()
    assert sorted((ROOT / "reports").iterdir()) == before


def test_another_workflow_plans_to_measure_the_workloads_that_come_along(elsewhere):
    _, done = elsewhere("  device: cpu\n", "--dry-run")
    assert done.returncode == 0, done.stdout
    jobs = planned_jobs(done.stdout)
    assert jobs["ledger_numerics"] == 1 and jobs["ledger_build"] == 1 and jobs["paper"] == 1


def test_another_workflow_measures_a_workload_of_its_own(elsewhere):
    text = (ROOT / "workloads/linear_chain.py").read_text()
    folder, _ = elsewhere("", "--version")
    (folder / "mine.py").write_text(text)
    _, done = elsewhere("  device: cpu\n  workloads: [{file: mine.py}]\n", "--dry-run")
    assert done.returncode == 0, done.stdout
    assert planned_jobs(done.stdout)["ledger_timing"] == 1


def test_a_mistake_in_the_other_workflows_settings_is_told_as_in_ours(elsewhere):
    _, done = elsewhere("  devise: cpu\n", "--dry-run")
    assert done.returncode == 2 and "devise" in done.stdout and "Traceback" not in done.stdout
