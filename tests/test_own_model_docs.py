"""docs/own-model.md does what it says: its file and its configuration are planned and run, its messages are ours."""

import re
from pathlib import Path

import pytest
import yaml

from kernel_ledger.config import load_config
from kernel_ledger.plan import make_plan
from kernel_ledger.workload import Context, load

torch = pytest.importorskip("torch")

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs/own-model.md").read_text()


def block(language):
    found, *_ = blocks(language)
    return found


def blocks(language):
    found = re.findall(rf"^( *)```{language}\n(.*?)```", TEXT, re.DOTALL | re.MULTILINE)
    return [re.sub(rf"^{indent}", "", text, flags=re.MULTILINE) for indent, text in found]


def test_the_file_and_the_configuration_of_the_walk_are_planned_and_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("my_model.py").write_text(block("python"))
    plan = make_plan(load_config(yaml.safe_load(block("yaml")) | {"device": "cpu"}))
    assert [case["case"] for case in plan["cases"]] == ["batch256", "batch1024"]
    assert plan["cases"][0]["variants"] == ["eager", "compiled"]
    workload = load(Path("my_model.py"))
    parameters = {"batch": 256}
    inputs = workload.build(parameters, Context("cpu", 1))
    assert workload.variant("eager").make(parameters, Context("cpu", 1), inputs)().shape == (256, 512)


def test_the_replaced_chain_of_the_walk_is_a_variant_that_computes_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(
        torch, "compile", lambda module, dynamic: module
    )  # what it compiles to is not in question
    path = tmp_path / "my_model.py"
    path.write_text("\n\n".join(blocks("python")))
    workload, context = load(path), Context("cpu", 1)
    parameters = workload.complete({"batch": 16})
    inputs = workload.build(parameters, context)
    eager, fused = (workload.variant(name).make(parameters, context, inputs)() for name in ("eager", "fused"))
    assert torch.equal(eager, fused)


def test_the_template_is_a_model_of_ones_own():
    workload = load(ROOT / "workloads/template.py")
    assert workload.name == "template" and set(workload.parameters) == {"batch", "width"}


def test_the_messages_of_the_table_are_those_of_the_program():
    sources = "".join(
        (ROOT / f"src/kernel_ledger/{name}.py").read_text() for name in ("own_model", "own_model_checks")
    )
    plain = re.sub(r"\{[^}]*\}", "…", sources)
    for message in re.findall(r"^\| .+? \| (.+) \|$", TEXT.split("## What goes wrong")[1], re.MULTILINE):
        if message in ("message", "---"):
            continue
        wanted = re.sub(r"'batch'|(?<=input )\d|^model_fused", "…", message)
        assert wanted in plain, message


def test_the_full_configuration_plans_every_workload_on_cuda(monkeypatch):
    monkeypatch.chdir(ROOT)
    plan = make_plan(load_config(yaml.safe_load((ROOT / "config/full.yaml").read_text())))
    measured = {case["file"] for case in plan["cases"]} | {left["file"] for left in plan["left_out"]}
    assert measured == {path.relative_to(ROOT).as_posix() for path in (ROOT / "workloads").glob("*.py")}
