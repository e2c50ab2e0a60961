"""Two real processes on the CPU: torchrun, gloo, a trace for each rank, and one report of nsys for both."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
from nsys_tool import real_nsys
from pass_runs import change_plan, write_plan

from kernel_ledger import kineto
from kernel_ledger.errors import EvidenceError
from kernel_ledger.files import read_json

pytest.importorskip("torch")
ROOT = Path(__file__).parents[1]
WORKLOAD = ROOT / "workloads/ddp_step.py"
TINY = {"rows": 4, "dim": 8, "layers": 2, "bucket_mb": 1}
LIMITS = {"agreement_pct": 1.0, "short_kernel_ns": 20000, "short_kernel_extra_ns": 200}
UNUSED = {"roles": {}, "launches": {}, "kernels": {}, "traffic": {}, "elements": None, "element_bytes": 4,
          "working_set": None, "not_chain": []}  # fmt: skip


def script(root, name, *arguments, check=True):
    command = [sys.executable, ROOT / f"scripts/{name}.py", *arguments]
    finished = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=200)
    assert not check or finished.returncode == 0, finished.stderr
    return finished


def planned(root, workload=WORKLOAD, nsys=None, **parameters):
    """A plan of two ranks; its path, and the words that every pass gets."""
    plan, case = write_plan(root, workload, nsys, **parameters)
    entry = read_json(plan)["cases"][0] | UNUSED | {"world_size": 2}
    change_plan(
        plan,
        cases=[entry],
        tolerance={"rtol": 1e-4, "atol": 1e-5, **LIMITS},
        passes=["numerics", "timing", "torch", "nsys"],
        timeout_s=150,
    )
    folder = plan.parent / entry["workload"] / case
    return plan, ["--plan", plan, "--workload", entry["workload"], "--case", case, "--output", folder], folder


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The run folder, and that of its case, after all passes and the reconciliation."""
    root = tmp_path_factory.mktemp("two ranks")
    plan, words, folder = planned(root, nsys=str(real_nsys()), **TINY)
    script(root, "numerics", *words)
    script(root, "timing", *words)
    for variant in ("overlapped", "sequential"):
        script(root, "torch_pass", *words, "--variant", variant)
    script(root, "nsys_pass", *words)
    script(root, "export", "--plan", plan, "--capture", folder)
    script(root, "reconcile", "--plan", plan, "--captures", plan.parent, "--output", plan.parents[1])
    return plan.parents[1], folder


def test_both_ranks_balance_in_one_verdict(measured):
    run, _ = measured
    verdict = read_json(run / "verdict.json")
    assert verdict["verdict"] == "verified", verdict
    with (run / "results.csv").open(newline="") as stream:
        ranges = [r for r in csv.DictReader(stream) if r["level"] == "range"]
    assert [(r["variant"], r["rank"], r["torch_count"], r["nsys_count"], r["device"]) for r in ranges] == [
        (variant, rank, "3", "3", "cpu") for rank in "01" for variant in ("overlapped", "sequential")
    ]


def test_each_rank_left_a_trace_that_says_whose_it_is(measured):
    _, folder = measured
    for variant in ("overlapped", "sequential"):
        for rank, name in enumerate(["trace.json.gz", "trace.rank-1.json.gz"]):
            book = kineto.read(folder / "torch" / variant / name, {f"ddp_step/{variant}"})
            assert (book.rank, len(book.ranges)) == (rank, 3) and book.epoch > 10**18
        files = read_json(folder / "torch" / variant / "run.json")["files"]
        assert {"trace.json.gz", "trace.rank-1.json.gz", "key_averages.csv"} <= set(files)


def test_after_the_step_all_ranks_have_the_same_parameters_and_the_reference_agrees(measured):
    _, folder = measured
    numerics = [read_json(folder / name) for name in ("numerics.json", "numerics.rank-1.json")]
    for variant in ("overlapped", "sequential"):
        entries = [n["variants"][variant] for n in numerics]
        assert entries[0]["sha256"] == entries[1]["sha256"] and entries[0]["agrees"]
        assert 0 < entries[0]["error_l2"] < 1e-6
    ranks = read_json(folder / "nsys/run.json")["ranks"]
    assert len({told["pid"] for told in ranks}) == 2
    assert ranks[0]["output_sha256"] == ranks[1]["output_sha256"]


def test_both_ranks_took_as_many_samples_and_the_first_speaks_for_the_case(measured):
    _, folder = measured
    samples = [
        [len(v["samples_ns"]) for v in read_json(folder / name)["variants"].values()]
        for name in ("timing.json", "timing.rank-1.json")
    ]
    assert samples[0] == samples[1]
    recorded = set(read_json(folder / "run.json")["files"])
    assert recorded == {
        "numerics.json",
        "numerics.rank-1.json",
        "dataflow.json",
        "timing.json",
        "timing.rank-1.json",
    }


def test_the_ranks_are_compared_on_one_clock_in_both_books(measured):
    run, _ = measured
    with (run / "ranks.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(r["variant"], r["book"], r["rank"]) for r in rows] == [
        (v, book, rank) for v in ("overlapped", "sequential") for book in ("torch", "nsys") for rank in "01"
    ]
    assert all(0 <= float(r["start_late_ns"]) < 60e9 for r in rows)
    assert all(r["communication_ns"] == "" and "device=cpu" in r["reason"] for r in rows)


def test_a_rank_that_fails_ends_the_others_and_the_pass(tmp_path):
    broken = tmp_path / "ddp_step.py"
    text = WORKLOAD.read_text().replace(
        "    model = inputs", "    assert context.rank == 0, 'rank 1 has had enough'\n    model = inputs", 1
    )
    broken.write_text(text)
    _, words, folder = planned(tmp_path, broken, **TINY)
    finished = script(tmp_path, "numerics", *words, check=False)
    assert finished.returncode == 4 and "rank 1 has had enough" in finished.stderr
    with pytest.raises(EvidenceError, match="missing"):
        read_json(folder / "numerics.json")
    assert json.dumps([p.name for p in folder.iterdir()]) == "[]"
