"""config.yaml and its schema are generated from the model, explain every key, and cannot drift unnoticed."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import yaml

from kernel_ledger.config import load_config
from kernel_ledger.config_problems import key_paths
from kernel_ledger.config_schema import COMMAND, config_text, schema_text, stale

ROOT = Path(__file__).resolve().parents[1]


def test_the_generated_files_are_those_of_the_model():
    different = [path.relative_to(ROOT).as_posix() for path in stale(ROOT)]
    assert not different, f"{', '.join(different)} differ from src/kernel_ledger/config.py; run `{COMMAND}`"


def test_the_default_file_says_the_defaults_and_satisfies_its_schema():
    values = yaml.safe_load(config_text())
    assert load_config(values) == load_config({})
    jsonschema.validate(values, json.loads(schema_text()))


def test_every_key_is_explained_in_the_file():
    text = config_text()
    schema = json.loads(schema_text())
    for path in [*key_paths(schema, schema), "file", "cases", "variants"]:
        key = path.rsplit(".", 1)[-1]
        lines = [line for line in text.splitlines() if line.lstrip("-# ").startswith(f"{key}:")]
        assert lines and all(len(line.split("# ")[-1]) > 10 for line in lines), path
    assert max(map(len, text.splitlines())) <= 110


def test_a_file_that_differs_is_named_with_the_command_that_mends_it(tmp_path):
    (tmp_path / "config.yaml").write_text("run: other\n")
    command = [sys.executable, "-m", "kernel_ledger.config_schema", "--repository", str(tmp_path)]
    environment = {"PYTHONPATH": str(ROOT / "src")}
    checked = subprocess.run([*command, "--check"], capture_output=True, text=True, env=environment)
    assert checked.returncode == 1 and f"run {COMMAND}" in checked.stdout
    assert (tmp_path / "config.yaml").read_text() == "run: other\n"
    assert subprocess.run(command, capture_output=True, env=environment).returncode == 0
    assert stale(tmp_path) == []
