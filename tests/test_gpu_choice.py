"""Several GPUs: a case stays on one, cases spread, and a model that is asked for is the one that measures."""

import json
import os
import threading
from functools import partial

import pytest
from test_pass_nvml import FakeNvml

from kernel_ledger import device, exclusive, launch
from kernel_ledger.errors import MachineError
from kernel_ledger.gpu_choice import CAP, Choice, choose, is_model

HOLDER = {"command": "timing", "run": "r"}
ZERO, ONE = "GPU-abc0", "GPU-abc1"


@pytest.fixture
def two_gpus(tmp_path, monkeypatch):
    """A function that enters ``place`` of the launcher on a machine with two pretended GPUs."""
    for name in ("gpu_lock", "free_gpu_lock"):
        monkeypatch.setattr(device, name, partial(getattr(exclusive, name), folder=tmp_path / "locks"))
    monkeypatch.setattr(exclusive, "POLL_S", 0.02)

    def taken(name, environment, holder, choice=device.ANY):
        return device.taken(name, environment, holder, FakeNvml(), choice)

    monkeypatch.setattr(launch, "taken", taken)
    return lambda choice, **environ: launch.place({"device": "cuda"}, environ, HOLDER, None, choice)


def plan_of(*cases, **entry):
    entries = [{"workload": "w", "case": case, "variants": ["a"], **entry} for case in cases]
    return {
        "device": "cuda",
        "passes": ["numerics", "timing", "torch", "nsys"],
        "repeats": 1,
        "cases": entries,
    }


def began(captures, case, uuid, ended=False):
    """A case whose first pass ran on a GPU."""
    folder = captures / "w" / case
    (folder / "nsys").mkdir(parents=True)
    (folder / "numerics.json").write_text(json.dumps({"format": 1, "run": {"gpu": {"uuid": uuid}}}))
    if ended:
        (folder / "nsys" / "run.json").write_text("{}")


def chosen(plan, number, captures, first=False, cap="4"):
    entry = plan["cases"][number]
    return choose(plan, entry, captures=captures, first=first, environ={CAP: cap})


def test_a_free_gpu_is_taken_and_the_child_sees_that_one_only(two_gpus):
    with two_gpus(Choice()) as (first, of_first), two_gpus(Choice()) as (second, of_second):
        assert [first.identity["uuid"], second.identity["uuid"]] == [ZERO, ONE]
        assert [of_first["CUDA_VISIBLE_DEVICES"], of_second["CUDA_VISIBLE_DEVICES"]] == [ZERO, ONE]


def test_where_one_gpu_is_visible_the_childs_environment_is_as_it_was(two_gpus):
    with two_gpus(Choice(), CUDA_VISIBLE_DEVICES="1") as (taken, environment):
        assert taken.identity["uuid"] == ONE and environment == {"CUDA_VISIBLE_DEVICES": "1"}


def test_the_third_waits_for_whichever_becomes_free_first(two_gpus):
    got = []

    def third():
        with two_gpus(Choice()) as (taken, _):
            got.append(taken.identity["uuid"])

    with two_gpus(Choice()):
        with two_gpus(Choice()):
            thread = threading.Thread(target=third)
            thread.start()
            thread.join(timeout=0.3)
            assert not got
        thread.join(timeout=5)
        assert got == [ONE]


def test_every_pass_of_a_case_waits_for_the_gpu_of_its_first(two_gpus, tmp_path):
    plan = plan_of("one", "two")
    began(tmp_path, "one", ONE)
    choice = chosen(plan, 0, tmp_path)
    assert choice.order(FakeGpus) == [ONE]
    with two_gpus(choice) as (taken, _):
        assert taken.identity["uuid"] == ONE
        impatient = partial(exclusive.free_gpu_lock, folder=tmp_path / "locks", wait_s=0)
        with pytest.raises(MachineError, match="GPU-abc1 is still taken"), impatient([ONE], holder=HOLDER):
            pass


FakeGpus = [{"index": n, "uuid": uuid, "name": "NVIDIA H200"} for n, uuid in enumerate((ZERO, ONE))]


def test_a_new_case_prefers_the_gpu_with_fewer_cases_at_work(tmp_path):
    plan = plan_of("one", "two", "three")
    began(tmp_path, "one", ZERO)
    assert chosen(plan, 1, tmp_path, first=True).order(FakeGpus) == [ONE, ZERO]
    began(tmp_path, "two", ONE, ended=True)
    assert chosen(plan, 2, tmp_path, first=True).order(FakeGpus) == [ONE, ZERO]


def test_a_run_with_one_gpu_stays_on_it(tmp_path):
    plan = plan_of("one", "two")
    began(tmp_path, "one", ONE)
    assert chosen(plan, 1, tmp_path, first=True, cap="1").order(FakeGpus) == [ONE, ZERO]


def test_a_case_that_began_on_a_gpu_elsewhere_is_refused_before_it_is_measured(tmp_path):
    plan = plan_of("one")
    began(tmp_path, "one", "GPU-of-another-node")
    with pytest.raises(MachineError, match="began on is not here") as caught:
        chosen(plan, 0, tmp_path).order(FakeGpus)
    assert "remove captures/w/one" in str(caught.value) and caught.value.exit_status == 3


@pytest.mark.parametrize(
    ("asked", "name", "is_it"),
    [
        ("h200", "NVIDIA H200", True),
        ("h100", "NVIDIA H100 80GB HBM3", True),
        ("nvidia_h100_80gb_hbm3", "NVIDIA H100 80GB HBM3", True),
        ("rtx4090", "NVIDIA GeForce RTX 4090", True),
        ("v100", "Tesla V100-SXM2-32GB", True),
        ("l4", "NVIDIA L40S", False),
        ("h100", "NVIDIA H200", False),
        ("h100", None, False),
    ],
)
def test_a_model_is_known_by_the_words_of_a_gpus_name(asked, name, is_it):
    assert is_model(asked, name) is is_it


def test_another_model_than_the_one_asked_for_is_refused(tmp_path):
    choice = chosen(plan_of("one", gpu_model="h100"), 0, tmp_path, first=True)
    with pytest.raises(MachineError, match="gpu_model: h100") as caught:
        choice.order(FakeGpus)
    assert "NVIDIA H200 (GPU-abc0)" in str(caught.value)


def test_on_the_cpu_nothing_is_chosen():
    plan = plan_of("one") | {"device": "cpu"}
    assert choose(plan, plan["cases"][0], captures=None, first=False, environ=os.environ) == Choice()
