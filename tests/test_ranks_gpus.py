"""The GPUs of a group of ranks: one each, all locked, always in one order."""

import json
import threading

import pytest
from test_gpu_choice import ONE, ZERO, plan_of, two_gpus  # noqa: F401

from kernel_ledger.config import load_config
from kernel_ledger.config_problems import ConfigProblems
from kernel_ledger.errors import MachineError
from kernel_ledger.gpu_choice import CAP, Choice, choose
from kernel_ledger.plan import make_plan

WORKLOAD = "workloads/ddp_step.py"


def test_each_rank_gets_a_gpu_of_its_own_and_sees_them_by_rank(two_gpus):  # noqa: F811
    with two_gpus(Choice(count=2)) as (taken, environment):
        assert [gpu["uuid"] for gpu in taken.identities] == [ZERO, ONE]
        assert environment["CUDA_VISIBLE_DEVICES"] == f"{ZERO},{ONE}"
        assert len(taken.descriptors) == 2


def test_a_pass_of_one_gpu_waits_until_the_group_has_ended(two_gpus):  # noqa: F811
    got = []

    def single():
        with two_gpus(Choice()) as (taken, _):
            got.append(taken.identity["uuid"])

    with two_gpus(Choice(count=2)):
        thread = threading.Thread(target=single)
        thread.start()
        thread.join(timeout=0.3)
        assert not got
    thread.join(timeout=5)
    assert got in ([ZERO], [ONE]), "the one that is given back first"


def test_groups_that_name_the_gpus_in_other_orders_do_not_block_each_other(two_gpus):  # noqa: F811
    finished = []

    def group(ranks):
        for _ in range(10):
            with two_gpus(Choice(pinned=ranks[0], count=2, ranks=ranks)) as (taken, _):
                assert tuple(gpu["uuid"] for gpu in taken.identities) == ranks
        finished.append(ranks)

    threads = [threading.Thread(target=group, args=(ranks,)) for ranks in ((ZERO, ONE), (ONE, ZERO))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
    assert len(finished) == 2


def test_more_ranks_than_gpus_is_said_before_anything_runs(two_gpus):  # noqa: F811
    with pytest.raises(MachineError, match="no GPU for each rank"), two_gpus(Choice(count=3)):
        pass


def test_every_rank_stays_on_the_gpu_of_the_first_pass(tmp_path):
    folder = tmp_path / "w" / "one"
    folder.mkdir(parents=True)
    ranks = [{"gpu": {"uuid": uuid}} for uuid in (ONE, ZERO)]
    record = {"format": 1, "run": {"gpu": {"uuid": ONE}, "ranks": ranks}}
    (folder / "numerics.json").write_text(json.dumps(record))
    plan = plan_of("one", world_size=2)
    choice = choose(plan, plan["cases"][0], captures=tmp_path, first=False, environ={CAP: "2"})
    assert (choice.count, choice.ranks) == (2, (ONE, ZERO))
    gpus = [{"uuid": uuid, "index": n, "name": "g"} for n, uuid in enumerate((ZERO, ONE))]
    assert choice.several(gpus) == [ONE, ZERO]


def test_the_world_size_of_a_case_is_in_the_plan_and_in_its_name():
    config = {"device": "cpu", "workloads": [{"file": WORKLOAD, "cases": [{"world_size": 4}]}]}
    (case,) = make_plan(load_config(config))["cases"]
    assert case["world_size"] == 4 and case["case"].startswith("world_size4_")


def test_a_world_size_of_none_is_a_problem_of_the_configuration():
    config = {"device": "cpu", "workloads": [{"file": WORKLOAD, "cases": [{"world_size": 0}]}]}
    with pytest.raises(ConfigProblems, match="its world size is 0"):
        make_plan(load_config(config))
