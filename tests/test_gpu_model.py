"""A case that asks for a model of GPU: the verdict says which one measured, and sameness refuses another."""

import json

import capture_factory
import pytest

from kernel_ledger.capture import read_case
from kernel_ledger.checks import sameness
from kernel_ledger.config import load_config
from kernel_ledger.config_problems import ConfigProblems
from kernel_ledger.plan import make_plan
from kernel_ledger.plan_file import read_plan
from kernel_ledger.verdict import gpus


def case_asking_for(tmp_path, model):
    captures = capture_factory.written(tmp_path)
    path = captures / "plan.json"
    plan = json.loads(path.read_text())
    plan["cases"][0]["gpu_model"] = model
    path.write_text(json.dumps(plan))
    plan = read_plan(path)
    return plan, read_case(plan, plan.cases[0], captures)


@pytest.mark.parametrize("model", [None, "h200", "nvidia_h200"])
def test_the_model_that_was_asked_for_is_the_same(tmp_path, model):
    plan, case = case_asking_for(tmp_path, model)
    assert sameness.check(plan, case, []).status == "pass"
    assert gpus([case]) == {case.plan.label: ["NVIDIA H200"]}


def test_another_model_fails_sameness_with_both_names(tmp_path):
    outcome = sameness.check(*case_asking_for(tmp_path, "h100"), [])
    assert outcome.status == "fail"
    assert "gpu_model: h100 was asked for, timing ran on NVIDIA H200" in outcome.reason


def test_the_plan_holds_the_model_of_each_case():
    config = load_config({"workloads": [{"file": "workloads/linear_chain.py", "gpu_model": "h100"}]})
    asked = {case["workload"]: case["gpu_model"] for case in make_plan(config)["cases"]}
    assert asked == {"linear_chain": "h100", "ruler": None}


def test_several_models_need_a_list_of_architectures():
    workloads = [
        {"file": "workloads/linear_chain.py", "gpu_model": "h100"},
        {"file": "workloads/gelu.py", "gpu_model": "a100"},
    ]
    with pytest.raises(ConfigProblems, match="build.architectures: list those of a100, h100"):
        load_config({"workloads": workloads})
    load_config({"workloads": workloads, "build": {"architectures": ["8.0", "9.0"]}})
