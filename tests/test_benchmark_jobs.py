"""What a run's rules took, from Snakemake's own notes."""

import json

import pytest
from workflow_copy import copy_workflow, snakemake

from kernel_ledger.benchmark.beside import differences
from kernel_ledger.benchmark.jobs import covered, rule_seconds
from kernel_ledger.benchmark.orchestration import Figure, added, judged, measured_seconds


def test_overlapping_spans_count_once():
    assert covered([(0, 2), (1, 3), (5, 6), (5.5, 5.7)]) == 4


def test_only_jobs_since_then_count(tmp_path):
    for name, start in (("old", 10.0), ("new", 20.0), ("also", 22.0)):
        note = {"rule": "timing", "starttime": start, "endtime": start + 2}
        (tmp_path / name).write_text(json.dumps(note))
    (tmp_path / "broken").write_text("{")
    assert rule_seconds(15.0, tmp_path) == {"timing": 4.0}


def test_snakemakes_notes_are_where_and_as_they_are_read(tmp_path, monkeypatch):
    folder = copy_workflow(tmp_path / "study")
    config = ["device=cpu", "run=r", "workloads=[{file: workloads/linear_chain.py, variants: [eager]}]"]
    done = snakemake(
        folder, "--config", *config, "--", "reports/r/captures/linear_chain/rows1024_dim64/run.json"
    )
    if done.returncode:
        pytest.fail(done.stdout)
    monkeypatch.chdir(folder)
    assert {"numerics", "timing"} <= set(rule_seconds(0.0))
    assert all(0 < seconds < 60 for seconds in rule_seconds(0.0).values())


def test_the_collision_control_is_a_measured_process(tmp_path):
    (tmp_path / "collision_control.json").write_text('{"seconds": 5.5}')
    (tmp_path / "run.json").write_text('{"seconds": 2.0}')
    assert measured_seconds(tmp_path) == 7.5


def test_the_share_of_what_is_added_is_told_with_and_without_the_build():
    assert "20.0 % of the run, 11.1 % where the build is there" in added(wall=100, passes=80, build=10)


def test_rows_of_two_runs_are_compared_where_both_have_a_value():
    key = {"workload": "w", "case": "c", "variant": "v", "level": "block"}
    alone = [{**key, "name": "a", "t": 100}, {**key, "name": "b", "t": ""}, {**key, "name": "c", "t": 50}]
    beside = [{**key, "name": "a", "t": 101}, {**key, "name": "b", "t": 7}, {**key, "name": "d", "t": 50}]
    assert differences(alone, beside, "t") == [pytest.approx(1.0)]


@pytest.mark.parametrize(
    ("added_s", "second_s", "holds"),
    [(15, 3, [True, True]), (16, 2, [False, True]), (1, 3.1, [True, False])],
)
def test_a_run_on_a_gpu_is_held_to_its_share_and_its_second_run(added_s, second_s, holds):
    figures = [Figure("run", 100, ""), Figure("added", added_s, ""), Figure("second run", second_s, "")]
    assert [bar.holds for bar in judged(figures)] == holds
