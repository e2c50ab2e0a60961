"""The collision control: nsys around a clean pass on purpose, noticed before anything is measured."""

from __future__ import annotations

import json
import subprocess
import sys

import capture_factory as factory
import pytest
from nsys_tool import real_nsys, script
from pass_runs import ROOT, change_plan, write_plan
from repeated_captures import controlled
from test_reconcile import reconciled

from kernel_ledger.control import noticed

COPY = (
    "report = sys.argv[sys.argv.index('--output') + 1] + '.nsys-rep'\nopen(report, 'w').write('recorded')\n"
)
CHILD = "command = sys.argv[sys.argv.index('--output') + 2:]\n"


@pytest.fixture
def control(tmp_path):
    """Runs the control with an nsys; returns (collision_control.json, what finished)."""
    pytest.importorskip("torch")

    def run(nsys, **changes):
        plan, case = write_plan(tmp_path, nsys_path=str(nsys))
        change_plan(plan, **changes)
        output = plan.parent / "collision_control.json"
        words = [sys.executable, ROOT / "scripts/collision_control.py", "--plan", plan, "--workload", "tiny"]
        words += ["--case", case, "--variant", "plain", "--output", output]
        finished = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=100)
        assert finished.returncode == 0, finished.stderr
        assert sorted(p.name for p in plan.parent.iterdir()) == ["collision_control.json", "plan.json"]
        return json.loads(output.read_text()), finished

    return run


def nsys_script(path, child):
    """An nsys that injects nothing: ``child`` is what it does with the process."""
    version = (
        "if '--version' in sys.argv:\n    print('NVIDIA Nsight Systems version 2025.3.1.90'); sys.exit()\n"
    )
    return script(path / "nsys", version + COPY + CHILD + child)


def test_the_real_nsys_around_a_torch_pass_is_noticed_before_anything_is_measured(control):
    record, finished = control(real_nsys())
    assert record["detected"] is True and record["detected_by"] == ["injection"] and record["reason"] is None
    assert record["exit_status"] == 4 and "NVTX_INJECTION64_PATH" in record["probe"]["injection"]
    assert "another profiler is in the process of this clean torch pass" in record["said"]
    assert not {"trace.json.gz", "key_averages.csv", "child.json"} & set(record["files"])
    assert "the collision was noticed (injection)" in finished.stderr


def test_a_pass_that_measures_on_is_no_detection_and_names_its_table(control, tmp_path):
    record, _ = control(nsys_script(tmp_path, "os.execvp(command[0], command)"))
    assert record["detected"] is False and record["exit_status"] == 0
    assert "did not notice nsys around it, and left trace.json.gz" in record["reason"]


def test_a_pass_that_ends_before_it_looks_says_nothing_about_detection(control, tmp_path):
    record, _ = control(nsys_script(tmp_path, "print('no space left'); sys.exit(9)"))
    assert record["detected"] is None and "(status 9)" in record["reason"]
    assert record["said"] == "no space left" and record["probe"] is None


def test_a_pass_that_hangs_is_ended_and_says_nothing_about_detection(control, tmp_path):
    record, _ = control(nsys_script(tmp_path, "import time; time.sleep(60)"), timeout_s=2)
    assert record["detected"] is None and "ran past its time limit" in record["reason"]


def test_an_answer_of_cupti_and_variables_each_count_as_notice():
    assert noticed({"result": 39, "injection": []}) == ["cupti"]
    assert noticed({"result": 0, "injection": ["CUDA_INJECTION64_PATH"], "regime": "multi"}) == ["injection"]
    assert noticed({"result": 0, "injection": []}) == [] == noticed({})


@pytest.fixture
def subscriber(tmp_path):
    """The check `subscriber` of a healthy run with a control."""

    def run(remove=False, **values):
        captures = controlled(factory.written(tmp_path), **values)
        if remove:
            (captures / "collision_control.json").unlink()
        rows, verdict = reconciled(captures, tmp_path / "out")
        (check,) = [c for c in verdict["checks"] if c["id"] == "subscriber"]
        return check, verdict["verdict"], {r["status"] for r in rows}

    return run


def test_a_control_that_noticed_is_part_of_the_evidence(subscriber):
    check, verdict, rows = subscriber()
    assert (check["status"], verdict, rows) == ("pass", "verified", {"verified"})
    assert "collision_control.json" in check["evidence"]
    assert "noticed nsys by cupti and injection" in json.dumps(check["measured"])


def test_a_control_that_noticed_nothing_refutes_the_run_and_no_row_is_quoted(subscriber):
    reason = "the pass did not notice nsys around it, and left trace.json.gz"
    check, verdict, rows = subscriber(detected=False, detected_by=[], reason=reason)
    assert (check["status"], verdict) == ("fail", "refuted") and "verified" not in rows
    assert reason in check["reason"] and "need not have been alone" in check["reason"]


def test_a_control_that_could_not_be_made_leaves_the_run_unverifiable(subscriber):
    check, verdict, _ = subscriber(detected=None, detected_by=[], reason="the pass ended before it looked")
    assert (check["status"], verdict) == ("unknown", "unverifiable")
    assert "the pass ended before it looked" in check["reason"]


def test_a_planned_control_that_is_missing_leaves_the_run_unverifiable(subscriber):
    check, verdict, _ = subscriber(remove=True)
    assert (check["status"], verdict) == ("unknown", "unverifiable")
    assert "collision_control.json" in check["reason"]


def test_a_control_of_another_nsys_or_gpu_says_nothing_of_this_run(subscriber):
    check, verdict, _ = subscriber(versions={"nsys": "2023.4.4", "driver": "535"})
    assert (check["status"], verdict) == ("unknown", "unverifiable")
    assert "nsys 2023.4.4" in check["reason"] and "driver 535" in check["reason"]
