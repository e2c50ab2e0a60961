"""Every workload of the repository: planned for both devices, and run on the CPU at its small case."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from workflow_copy import ROOT

from kernel_ledger import plan as planning
from kernel_ledger.config import load_config
from kernel_ledger.config_problems import ConfigProblems
from kernel_ledger.plan_file import LATER, planned_case
from kernel_ledger.workload import Published, Tolerance, load, problems

LIBRARY = ROOT / "build/cpu/kernels.so"
NAMES = ["gelu", "matmul", "add", "conv_model", "transformer_block", "template"]
RUN = """
import json, sys
from pathlib import Path
from kernel_ledger.config import load_config
from kernel_ledger.passes import numerics
from kernel_ledger.plan import make_plan
from kernel_ledger.request import build_request

root, library, *files = sys.argv[1:]
plan = make_plan(load_config({"device": "cpu", "workloads": [{"file": file} for file in files]}))
for case in plan["cases"]:
    output = Path(root) / case["workload"] / case["case"]
    output.mkdir(parents=True)
    variants = [name for name in case["variants"] if name != "compiled"]  # a compiler costs ten seconds each
    path = Path(library) if Path(library).is_file() else None
    if path is None:
        variants = [name for name in variants if "extension" not in case["needs"].get(name, ())]
    numerics.run(build_request(plan, case, "numerics", variants=variants, library=path, output=output), [])
"""


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    """numerics.json of every case, from one process."""
    pytest.importorskip("torch")
    root = tmp_path_factory.mktemp("captures")
    command = [sys.executable, "-c", RUN, root, LIBRARY, *(f"workloads/{name}.py" for name in NAMES)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment())
    assert done.returncode == 0, done.stderr
    return {
        p.parent.relative_to(root).as_posix(): json.loads(p.read_text()) for p in root.rglob("numerics.json")
    }


def environment():
    import os

    return {**os.environ, "PYTHONPATH": str(ROOT / "src")}


def test_every_variant_that_the_cpu_can_run_agrees(numbers):
    assert {name.split("/")[0] for name in numbers} == set(NAMES)
    for name, found in numbers.items():
        for variant, entry in found["variants"].items():
            assert entry["agrees"] and not entry["nan_count"], f"{name}/{variant}"


def test_errors_against_float64_are_those_of_the_dtype(numbers):
    errors = {n: f["variants"]["matmul"]["error_l2"] for n, f in numbers.items() if n.startswith("matmul/")}
    assert errors["matmul/dim256_dtypefloat32"] < 1e-6 < 1e-3 < errors["matmul/dim256_dtypebfloat16"] < 1e-2


def test_the_backward_pass_gives_a_gradient_for_every_parameter(numbers):
    (found,) = [f for n, f in numbers.items() if n.endswith("modeforward_backward")]
    assert (
        len(found["variants"]["eager"]["shape"]) == 1 + 1 + 12
    )  # output, x, six layers with weight and bias


def test_the_tolerance_of_a_workload_takes_the_place_of_the_run(numbers):
    found = numbers["matmul/dim256_dtypebfloat16"]
    assert (found["rtol"], found["atol"]) == (2**-7, 2**-7)


def cuda_plan(monkeypatch, name, **choice):
    monkeypatch.chdir(ROOT)
    chosen = [{"file": f"workloads/{name}.py", **choice}]
    return planning.make_plan(load_config({"workloads": chosen}))


def test_matmul_is_a_sweep_over_sizes_and_dtypes_with_its_flops(monkeypatch):
    cases = [case for case in cuda_plan(monkeypatch, "matmul")["cases"] if case["workload"] == "matmul"]
    swept = {(case["parameters"]["dim"], case["parameters"]["dtype"]): case["flops"] for case in cases}
    assert len(swept) == 8 and swept[4096, "bfloat16"] == 2 * 4096**3


def test_the_bytes_of_an_element_follow_the_dtype(monkeypatch):
    cases = [case for case in cuda_plan(monkeypatch, "add")["cases"] if case["workload"] == "add"]
    assert {case["parameters"]["dtype"]: case["element_bytes"] for case in cases} == {
        "float32": 4,
        "bfloat16": 2,
    }


def test_gelu_has_every_spelling_or_the_reason_why_not(monkeypatch):
    (case,) = [case for case in cuda_plan(monkeypatch, "gelu")["cases"] if case["workload"] == "gelu"]
    spelled = {"manual", "builtin", "compiled", "cuda", "cuda_scalar", "cuda_inline", "triton", "copy"}
    assert {*case["variants"], *case["left_out"]} == spelled
    assert case["published"]["times_ns"]["manual"] == 8_099_000
    assert all(case["left_out"].values())


def test_a_workload_that_this_machine_cannot_run_is_left_out_with_the_reason(monkeypatch):
    impossible(monkeypatch)
    choices = [{"file": "workloads/conv_model.py"}, {"file": "workloads/add.py"}]
    plan = planning.make_plan(load_config({"workloads": choices}))
    assert {case["workload"] for case in plan["cases"]} == {"add", "ruler"}
    assert plan["left_out"] == [
        {"workload": "conv_model", "file": "workloads/conv_model.py", "reason": "no such package"}
    ]


def test_where_nothing_else_is_left_it_is_a_problem(monkeypatch):
    impossible(monkeypatch)
    with pytest.raises(ConfigProblems, match="conv_model.py: this machine cannot run it: no such package"):
        planning.make_plan(load_config({"workloads": [{"file": "workloads/conv_model.py"}]}))


def impossible(monkeypatch):
    """conv_model as on a machine that lacks a package."""
    monkeypatch.chdir(ROOT)

    def loaded(path):
        workload = load(path)
        return (
            replace(workload, unavailable=lambda device: "no such package")
            if "conv" in path.stem
            else workload
        )

    monkeypatch.setattr(planning, "load", loaded)


def test_a_plan_from_before_these_declarations_is_still_read():
    plan = json.loads((ROOT / "reports/h200-reference/captures/plan.json").read_text())
    old = {key: value for key, value in plan["cases"][0].items() if key not in LATER}
    case = planned_case(old)
    assert (case.tolerance, case.flops, case.published, case.sections) == (None, None, None, ())


def test_an_unknown_section_is_a_problem_of_the_declaration():
    workload = replace(load(ROOT / "workloads/add.py"), sections=("kernel_names", "poems"))
    assert problems(workload) == ["there is no section 'poems', only kernel_names, nested_time"]


def test_what_is_declared_is_plain_data_in_the_plan(monkeypatch):
    plan = cuda_plan(monkeypatch, "gelu")
    assert json.loads(json.dumps(plan, allow_nan=False)) == plan
    assert Published("a", {}).source == "a" and Tolerance(0, 0).rtol == 0


def test_a_file_that_is_no_python_is_refused(tmp_path):
    path = tmp_path / "model.txt"
    path.write_text("")
    with pytest.raises(Exception, match="a workload is a Python file"):
        load(Path(path))
