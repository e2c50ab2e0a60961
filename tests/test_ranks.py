"""Several processes in one capture: every rank balances by itself, and they are compared with each other."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
import rank_captures
from rank_captures import ALL_REDUCE, LATE_NS

from kernel_ledger.columnar import column
from kernel_ledger.evidence import Book, GpuOp, Instances, Operations, RangeInstance
from kernel_ledger.placing import place
from kernel_ledger.ranks.intervals import any_touches, common, length, union
from kernel_ledger.ranks.measures import arrivals, calls_of
from kernel_ledger.ranks.naming import ranked
from kernel_ledger.ranks.split import first_rank
from kernel_ledger.reconcile import read_table
from kernel_ledger.timeline.books import nsys_slices

ROOT = Path(__file__).parents[1]


def reconciled(captures):
    """(rows of results.csv, checks by id, rows of ranks.csv) of a capture, through the rule's script."""
    run = captures.parent
    command = [sys.executable, ROOT / "scripts/reconcile.py", "--plan", captures / "plan.json"]
    subprocess.run([*command, "--captures", captures, "--output", run], check=True)
    verdict = json.loads((run / "verdict.json").read_text())
    with (run / "ranks.csv").open(newline="") as stream:
        ranks = list(csv.DictReader(stream))
    return read_table(run / "results.csv"), verdict, ranks


def reason(verdict, check):
    (found,) = [c for c in verdict["checks"] if c["id"] == check]
    return found["status"], found["reason"]


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    return reconciled(rank_captures.written(tmp_path_factory.mktemp("ranks")))


def test_every_rank_has_its_own_rows_and_balances(healthy):
    rows, verdict, _ = healthy
    assert reason(verdict, "conservation")[0] == "pass", reason(verdict, "conservation")
    bad = [c for c in verdict["checks"] if c["status"] not in ("pass", "not_applicable")]
    assert [c["id"] for c in bad] == ["ruler"], bad  # this run has none
    kernels = [r for r in rows if r["level"] == "kernel"]
    assert [(r["rank"], r["device"], r["torch_count"], r["nsys_count"]) for r in kernels] == [
        (rank, f"cuda:{rank}", 10, 10) for rank in (0, 0, 1, 1)
    ]
    assert {r["status"] for r in kernels} == {"verified"}
    assert {r["torch_source"].split("@")[0] for r in kernels if r["rank"]} == {
        "torch/sequential/trace.rank-1.json.gz"
    }


def test_a_kernel_that_waits_for_other_ranks_has_a_wider_tolerance_and_says_so(healthy):
    rows, _, _ = healthy
    (row,) = [r for r in rows if r["rank"] == 0 and r["name"].startswith("ncclDevKernel")]
    assert row["difference_pct"] == -9.0909 and row["tolerance_pct"] == 25
    assert "communication_pct" in row["reason"]
    (gemm,) = [r for r in rows if r["rank"] == 0 and r["level"] == "kernel" and "gemm" in r["name"]]
    assert gemm["tolerance_pct"] == 1 and not gemm["reason"]


def test_the_rank_that_keeps_the_others_waiting_is_named_by_both_books(healthy, tmp_path):
    _, _, ranks = healthy
    told = {(r["rank"], r["book"]): r for r in ranks}
    for book in ("torch", "nsys"):
        first, second = told["0", book], told["1", book]
        assert (first["straggler"], second["straggler"]) == ("false", "true")
        assert (first["arrival_late_ns"], second["arrival_late_ns"]) == ("0", str(LATE_NS))
        assert (second["last_pct"], second["collectives"]) == ("100", "10")
        assert int(first["communication_ns"]) == int(second["communication_ns"]) + LATE_NS
        assert first["overlap_pct"] == "0" and first["early_end_ns"] == "0"
        assert (second["gpu"], second["device"]) == ("GPU-2", "cuda:1")


def test_a_launch_that_one_rank_lost_refutes_conservation_with_its_rank(tmp_path):
    def lose(book, happened):
        if book == "nsys":
            variant, number, begin, end, events = happened[3]
            happened[3] = (variant, number, begin, end, events[1:])
        return happened

    scenario = rank_captures.step()
    scenario.tamper = lose
    rows, verdict, _ = reconciled(rank_captures.written(tmp_path, scenario))
    status, text = reason(verdict, "conservation")
    assert status == "fail" and "rank 1" in text and "torch counted 10, nsys counted 9" in text
    gemms = [r for r in rows if r["level"] == "kernel" and "gemm" in r["name"]]
    assert [r["status"] for r in gemms] == ["verified", "disagree"]


def test_an_all_reduce_in_which_one_rank_took_no_part_is_found(tmp_path):
    def skip(book, happened):
        variant, number, begin, end, events = happened[0]
        happened[0] = (variant, number, begin, end, [e for e in events if e[0].symbol != ALL_REDUCE])
        return happened

    scenario = rank_captures.step()
    scenario.tamper = skip
    _, verdict, ranks = reconciled(rank_captures.written(tmp_path, scenario))
    status, text = reason(verdict, "conservation")
    assert status == "fail" and "different numbers of ncclDevKernel" in text and "rank 0 10, rank 1 9" in text
    assert all(r["collectives"] == "" and "different numbers" in r["reason"] for r in ranks)


@pytest.mark.parametrize(
    ("key", "value", "check", "text"),
    [
        ("output_sha256", {"sequential": "ee" * 32}, "numerics", "different bytes on different ranks"),
        (
            "gpu",
            {"name": "NVIDIA H200", "uuid": "GPU-1", "index": 0},
            "sameness",
            "2 ranks ran on one GPU, GPU-1",
        ),
        ("pid", 99, "conservation", "nsys recorded processes that are no rank: 4243"),
    ],
)
def test_what_is_wrong_between_ranks_is_found(tmp_path, key, value, check, text):
    def change(name, record):
        return {**record, "ranks": [record["ranks"][0], {**record["ranks"][1], key: value}]}

    _, verdict, _ = reconciled(rank_captures.written(tmp_path, change=change))
    status, told = reason(verdict, check)
    assert status == "fail" and text in told


def test_operations_are_placed_in_the_ranges_of_their_own_process():
    ranges = [RangeInstance("w/a", 0, 100, 1), RangeInstance("w/b", 50, 150, 2)]
    ops = [
        GpuOp("kernel", "k", "k", 120, 130, 0, 7, n, launch_start=60, process=p)
        for n, p in enumerate((1, 2, 3))
    ]
    placed = place(Operations.of(ops), Instances.of(ranges))
    assert [op.range for op in placed] == ["w/a", "w/b", None]


def test_overlap_is_the_time_in_which_both_ran():
    def op(name, start, end):
        return GpuOp("kernel", name, name, start, end, 0, 7, start, range="w/a", iteration=0)

    ops = (op("gemm", 0, 100), op("gemm", 90, 200), op("ncclDevKernel_AllReduce", 150, 260))
    (call,) = calls_of(Book("b", ops, (RangeInstance("w/a", 0, 10),), epoch=1000), "w/a")
    assert (call.compute_ns, call.communication_ns, call.overlap_ns) == (200, 110, 50)
    assert (call.start, call.end, call.collectives) == (1000, 1260, ((1150, 1260),))


def test_stretches_of_time_are_united_and_cut():
    assert union([(5, 7), (0, 2), (2, 3), (6, 9)]) == [(0, 3), (5, 9)]
    assert common([(0, 3), (5, 9)], [(2, 6), (8, 20)]) == [(2, 3), (5, 6), (8, 9)]
    assert length([(0, 3), (5, 9)]) == 7
    of = [(0, 3), (5, 9)]
    assert any_touches(column([3]), column([6]), of) and not any_touches(column([3]), column([5]), of)


def test_a_collective_that_ends_before_another_rank_began_shows_how_far_clocks_are_off():
    first, second = arrivals([[(0, 10)], [(14, 30)]])
    assert (first.early_end_ns, second.early_end_ns) == (4, 0)
    assert (first.last, second.last, second.late_ns) == (0, 1, (14,))


@pytest.mark.parametrize(
    ("name", "rank", "file"),
    [
        ("trace.json.gz", 0, "trace.json.gz"),
        ("torch/a.b/trace.json.gz", 2, "torch/a.b/trace.rank-2.json.gz"),
        ("timing.json", 1, "timing.rank-1.json"),
    ],
)
def test_a_file_of_a_rank_is_named_after_it(name, rank, file):
    assert ranked(name, rank) == file


def test_pictures_and_the_timeline_show_the_first_rank(tmp_path):
    captures = rank_captures.written(tmp_path)
    reconciled(captures)
    path = captures / "step/two/nsys/report.sqlite"
    assert len(first_rank(path, {"step/sequential"}).ops) == 20
    names = [s.name for s in nsys_slices(path, {"step/sequential"}) if s.category == "range"]
    assert names == ["step/sequential"] * 10
    subprocess.run([sys.executable, ROOT / "scripts/report.py", "--run", tmp_path], check=True)
    text = (tmp_path / "summary.md").read_text()
    assert "**rank 1 keeps the others waiting** (GPU-2)" in text and "(by torch and nsys)" in text
    assert "2 ranks ran" in text
