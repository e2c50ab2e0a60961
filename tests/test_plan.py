"""The plan: every case and variant checked together, frozen, and the same each time."""

import json
import subprocess
import sys

import pytest
from workflow_copy import ROOT

from kernel_ledger.config import load_config
from kernel_ledger.config_problems import ConfigProblems
from kernel_ledger.plan import make_plan

WORKLOAD = """
from kernel_ledger.workload import Traffic, Variant, Workload

def make(parameters, context, inputs):
    raise AssertionError("planning calls no variant")

WORKLOAD = Workload(
    name="{name}",
    parameters={{"rows": 8, "scale": 0.5, "mode": "a"}},
    variants=[
        Variant("plain", make, launches=2, traffic=Traffic(2, 1)),
        Variant("fused", make, kernels={{"k": 1}}, needs=("extension",)),
        Variant("warp", make, needs=("cuda",)),
        Variant("copy", make, role="reference"),
    ],
    build=make,
    cases={{"cuda": [{{"rows": 64}}], "cpu": [{{}}]}},
    elements=lambda p: p["rows"] * 2,
    not_chain=("aten::addmm",),
)
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "workloads").mkdir()
    (tmp_path / "workloads/mine.py").write_text(WORKLOAD.format(name="mine"))
    (tmp_path / "workloads/ruler.py").write_text(WORKLOAD.format(name="ruler"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def plan_of(*choices, **settings):
    chosen = [{"file": "workloads/mine.py", **choice} for choice in choices or [{}]]
    return make_plan(load_config({"workloads": chosen, **settings}))


def problems_of(*choices, **settings):
    with pytest.raises(ConfigProblems) as caught:
        plan_of(*choices, **settings)
    return "\n".join(caught.value.problems)


def test_the_plan_is_json_and_the_same_each_time(here):
    first, second = plan_of(), plan_of()
    assert json.dumps(first, allow_nan=False) == json.dumps(second)
    assert first["format"] == 1 and first["iterations"] == 10


def test_a_case_carries_all_that_the_reconciliation_needs(here):
    case = plan_of()["cases"][0]
    assert case["case"] == "rows64_scale0.5_modea"
    assert case["parameters"] == {"rows": 64, "scale": 0.5, "mode": "a"}
    assert case["variants"] == ["plain", "fused", "warp", "copy"]
    assert case["roles"]["copy"] == "reference"
    assert case["launches"] == {"plain": 2} and case["kernels"] == {"fused": {"k": 1}}
    assert case["traffic"] == {"plain": {"reads": 2, "writes": 1}}
    assert case["needs"] == {"fused": ["extension"], "warp": ["cuda"]}
    assert case["elements"] == 128 and case["working_set"] is None and case["clamp"] is None
    assert len(case["source_sha256"]) == 64


def test_the_ruler_is_part_of_every_run_on_cuda_and_of_none_on_the_cpu(here):
    assert [case["workload"] for case in plan_of()["cases"]] == ["mine", "ruler"]
    assert [case["workload"] for case in plan_of(device="cpu")["cases"]] == ["mine"]
    assert [case["workload"] for case in plan_of({}, {"file": "workloads/ruler.py"})["cases"]] == [
        "mine",
        "ruler",
    ]


def test_on_the_cpu_what_needs_cuda_is_left_out_with_the_reason(here):
    (case,) = plan_of(device="cpu")["cases"]
    assert case["variants"] == ["plain", "fused", "copy"]
    assert case["left_out"] == {"warp": "needs cuda, and the device is cpu"}


def test_chosen_variants_keep_the_workloads_order_and_its_yardsticks(here):
    assert plan_of({"variants": ["fused", "plain"]})["cases"][0]["variants"] == ["plain", "fused", "copy"]


def test_a_variant_that_does_not_exist_is_told_the_nearest(here):
    assert "mine has no variant 'fusd'; did you mean 'fused'?" in problems_of({"variants": ["fusd"]})


def test_a_case_given_twice_is_refused(here):
    assert "listed 2 times" in problems_of({"cases": [{"rows": 8}, {}]})


def test_the_text_of_the_command_line_becomes_the_type_of_the_default(here):
    case = plan_of({"cases": [{"rows": "16", "scale": "2", "mode": 7}]})["cases"][0]
    assert case["parameters"] == {"rows": 16, "scale": 2.0, "mode": "7"}


@pytest.mark.parametrize("rows", ["many", 1.5, True])
def test_a_parameter_of_another_type_is_refused(here, rows):
    assert f"rows is {rows!r}; expected int" in problems_of({"cases": [{"rows": rows}]})


def test_all_problems_of_all_workloads_are_told_at_once(here):
    (here / "workloads/broken.py").write_text("1 / 0")
    told = problems_of(
        {"variants": ["fusd"], "cases": [{"row": 8}, {"rows": "x"}]},
        {"file": "workloads/broken.py"},
        {"file": "workloads/none.py"},
    )
    for part in (
        "'fusd'",
        "no parameter 'row'",
        "rows is 'x'",
        "ZeroDivisionError",
        "none.py: no such workload",
    ):
        assert part in told


def test_a_device_without_a_variant_left_is_refused(here):
    assert "no variant is left on device cpu" in problems_of({"variants": ["warp"]}, device="cpu")


def test_the_workloads_of_this_repository_are_planned_without_importing_torch(repository_plan):
    assert "torch" not in repository_plan["modules"]
    assert [case["workload"] for case in repository_plan["plan"]["cases"]] == ["linear_chain", "ruler"]


@pytest.fixture
def repository_plan():
    code = (
        "import json, sys; from kernel_ledger.study import prepare;"
        "print(json.dumps({'plan': prepare({}).plan, 'modules': sorted(sys.modules)}))"
    )
    command = [sys.executable, "-c", code]
    environment = {"PYTHONPATH": str(ROOT / "src")}
    return json.loads(
        subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True).stdout
    )


@pytest.mark.parametrize("name", ["../../evil", "a b", ".hidden", "-x", 7])
def test_a_plan_read_back_is_held_to_names_that_can_be_folders(tmp_path, name):
    from kernel_ledger.errors import EvidenceError
    from kernel_ledger.study import recorded_plan

    (tmp_path / "captures").mkdir()
    plan = {"format": 1, "cases": [{"workload": "w", "case": name, "variants": ["v"]}]}
    (tmp_path / "captures/plan.json").write_text(json.dumps(plan))
    with pytest.raises(EvidenceError, match="cannot be folders"):
        recorded_plan(tmp_path)
