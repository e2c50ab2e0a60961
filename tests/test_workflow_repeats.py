"""Repeats and the collision control in the workflow: Snakemake keeps the order, and measures nothing twice."""

from pathlib import Path

import pytest
from workflow_copy import copy_workflow, planned_jobs, ran, snakemake

from kernel_ledger.config import load_config
from kernel_ledger.plan import make_plan
from kernel_ledger.repeats import schedule
from kernel_ledger.study import Study

VARIANTS = ["eager", "copy", "add"]
TWICE = "measure={repeats: 2}"
CHOSEN = "workloads=[{file: workloads/linear_chain.py, variants: [eager]}]"
NO_NSYS = {"PATH": "/usr/bin:/bin"}
ADD = {"device": "cpu", "workloads": [{"file": "workloads/add.py"}]}


@pytest.fixture
def workflow(tmp_path):
    return copy_workflow(tmp_path / "copy")


def on_cpu(folder, *arguments, repeats=2):
    config = ["device=cpu", CHOSEN, *([f"measure={{repeats: {repeats}}}"] if repeats > 1 else [])]
    return snakemake(folder, *arguments, "--config", *config)


def steps(folder):
    """What ran of the repeated passes, as "pass variant repeat"."""
    return [
        " ".join(line.split())
        for line in ran(folder)
        if line.split()[0] in ("timing", "torch_pass", "nsys_pass")
    ]


def expected(passes, repeats, variants=VARIANTS):
    rules = {"timing": "timing", "torch": "torch_pass", "nsys": "nsys_pass"}
    return [
        " ".join(filter(None, [rules[s.pass_name], s.variant, str(s.repeat) if s.repeat > 1 else None]))
        for s in schedule(passes, variants, repeats)
    ]


def test_the_passes_run_in_counter_balanced_order_and_only_once(workflow):
    finished = on_cpu(workflow, repeats=3)
    assert finished.returncode == 0, finished.stdout
    order = steps(workflow)
    passes = ("timing", "torch", *(["nsys"] if "nsys_pass" in order else []))
    assert order == expected(passes, 3)
    assert "Nothing to be done" in on_cpu(workflow, repeats=3).stdout


def test_more_repeats_keep_those_that_are_there(workflow):
    assert on_cpu(workflow, repeats=1).returncode == 0
    ran(workflow)
    assert on_cpu(workflow).returncode == 0
    assert {line.split()[-1] for line in steps(workflow)} == {"2"}


def test_a_pass_that_is_measured_again_makes_no_other_stale(workflow):
    assert on_cpu(workflow).returncode == 0
    ran(workflow)
    next(workflow.glob("reports/local/captures/*/*/torch/eager/trace.json.gz")).unlink()
    assert on_cpu(workflow).returncode == 0
    assert steps(workflow) == ["torch_pass eager"]


def test_the_collision_control_runs_on_cuda_alone_and_can_be_switched_off(workflow):
    jobs = [
        planned_jobs(snakemake(workflow, "--dry-run", "--config", *config).stdout)
        for config in (["run=a"], ["device=cpu"], ["measure={collision_control: false}"])
    ]
    assert [j.get("collision_control") for j in jobs] == [1, None, None] and all(j["gate"] for j in jobs)


def test_the_control_takes_the_rulers_shortest_variant_and_else_the_first(monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[1])
    config = load_config({})
    plan = make_plan(config)
    assert Study(config, plan).control == ("ruler", "default", "spin_short")
    alone = {**plan, "cases": plan["cases"][:1]}
    assert Study(config, alone).control == ("linear_chain", plan["cases"][0]["case"], "eager")


def test_a_workload_with_repeats_of_its_own_is_measured_so_often_and_the_others_are_not(workflow):
    both = "workloads=[{file: workloads/linear_chain.py, variants: [eager], repeats: 3}, {file: workloads/add.py}]"
    config = ["device=cpu", both, "measure={repeats: 2}"]
    jobs = planned_jobs(snakemake(workflow, "--dry-run", "--config", *config).stdout)
    add = make_plan(load_config(ADD))["cases"]
    assert jobs["timing"] == 3 + 2 * len(add) and jobs["numerics"] == 1 + len(add)
    assert jobs["torch_pass"] == 3 * len(VARIANTS) + 2 * sum(len(case["variants"]) for case in add)


def test_more_repeats_of_one_workload_keep_those_that_are_there(workflow):
    assert on_cpu(workflow, repeats=1).returncode == 0
    ran(workflow)
    more = CHOSEN.replace("[eager]", "[eager], repeats: 2")
    assert snakemake(workflow, "--config", "device=cpu", more).returncode == 0
    assert {line.split()[-1] for line in steps(workflow)} == {"2"}
