"""examples/nightly, with a Snakemake that hands out runs made for tests: which status ends the night."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "reports/h200-reference"
STAND_IN = """\
#!/usr/bin/env bash
for argument; do case $argument in run=*) run=${{argument#run=}};; esac; done
echo "$@" > arguments.txt
cp -r "{source}" "reports/$run" && exit {status}
"""


@pytest.fixture
def night(tmp_path):
    """A function that runs one night, in which Snakemake "measures" ``source`` and ends with ``status``."""
    folder = tmp_path / "another project"
    (folder / "reports").mkdir(parents=True)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (programs / "python").chmod(0o755)

    def run(source: Path, status: int = 0, name: str = "") -> tuple[Path, subprocess.CompletedProcess[str]]:
        stand_in = programs / "snakemake"
        stand_in.write_text(STAND_IN.format(source=source, status=status))
        stand_in.chmod(0o755)
        clock = programs / "date"
        clock.write_text(f"#!/bin/sh\necho {name}\n")
        clock.chmod(0o755)
        environment = os.environ | {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": str(folder / "step.md"),
        }
        command = [ROOT / "examples/nightly", "measure={iterations: 20}"]
        return folder, subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)

    return run


def test_the_first_night_chooses_the_base_and_the_second_is_compared_with_it(night):
    folder, first = night(REFERENCE, name="one")
    assert first.returncode == 0 and (folder / "reports/nightly-base").read_text() == "nightly-one\n"
    _, second = night(REFERENCE, name="two")
    assert second.returncode == 0, second.stderr
    assert (folder / "reports/compare-nightly-one-nightly-two/comparison.html").is_file()
    assert "no regression" in (folder / "step.md").read_text()
    assert (folder / "reports/nightly-base").read_text() == "nightly-one\n"
    assert "measure={iterations: 20}" in (folder / "arguments.txt").read_text()


def test_a_night_without_a_verified_run_ends_with_three(night):
    _, done = night(REFERENCE, status=1, name="one")
    assert done.returncode == 3 and "not verified" in done.stderr


def test_a_night_with_another_seed_cannot_be_judged(night, tmp_path):
    night(REFERENCE, name="one")
    other = shutil.copytree(REFERENCE, tmp_path / "other")
    plan = other / "captures/plan.json"
    plan.write_text(plan.read_text().replace('"seed": 2026', '"seed": 2027'))
    _, done = night(other, name="two")
    assert done.returncode == 2 and "seed" in done.stderr


def test_the_real_snakemake_takes_what_the_example_gives_it(tmp_path):
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = [ROOT / "examples/nightly", f"replay={REFERENCE}"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
    base = (tmp_path / "reports/nightly-base").read_text().strip()
    assert (tmp_path / "reports" / base / "results.csv").is_file()


def test_the_job_in_the_documentation_is_yaml_and_calls_the_example():
    page = (ROOT / "docs/nightly.md").read_text()
    job = yaml.safe_load(page.split("```yaml\n")[1].split("```")[0])
    commands = [step.get("run", "") for step in job["jobs"]["kernels"]["steps"]]
    assert any("examples/nightly" in command for command in commands)
