"""The README's figures come from the committed run, and its commands exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from workflow_copy import ROOT


def test_the_rows_are_those_of_the_reference_run():
    done = subprocess.run(
        [sys.executable, ROOT / ".ci/readme-rows", "--check"],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_every_file_and_make_target_that_the_readme_names_is_there():
    text = (ROOT / "README.md").read_text()
    for target in re.findall(r"^make (\w+)", text, re.MULTILINE):
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE), target
    for path in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (ROOT / path).exists(), path


def test_no_figure_stands_in_the_prose_outside_the_generated_block():
    text = (ROOT / "README.md").read_text()
    prose = re.sub(r"<!-- rows:.*?<!-- /rows -->", "", text, flags=re.DOTALL)
    assert re.findall(r"\d[\d.]* ?(?:ms|TB/s|×)", prose) == []
