"""A whole run of many kernels: reconciled in time and memory that grow as the run does, with no secret overlooked."""

import csv
import gzip
import json
import random
import sys
from math import log
from pathlib import Path

import capture_factory as factory
import pytest

from kernel_ledger import leaks
from kernel_ledger.assignments import ASSIGNMENT, LETTERS, LONGEST, assignments
from kernel_ledger.benchmark import whole
from kernel_ledger.benchmark.measure import measure
from kernel_ledger.columnar.records import Records
from kernel_ledger.columnar.table import grouped
from kernel_ledger.credentials import WORDS
from kernel_ledger.leak_blocks import blocks

ROOT = Path(__file__).parents[1]
SMALL, LARGE = 10_000, 60_000
STEEPEST = 1.3  # exponent of growth; that of a step that compares each with each is 2
MOST_BYTES = 2000  # of memory for a kernel that both books have; as objects it took 3500


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """(captures, measurement of the rule reconcile) of a small and of a large run."""
    found = {}
    for count in (SMALL, LARGE):
        folder = tmp_path_factory.mktemp("run")
        captures = folder / "captures"
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(ROOT)
            whole.write(captures, count, seed=1)
        command = ["env", f"PYTHONPATH={ROOT / 'src'}", sys.executable, str(ROOT / "scripts/reconcile.py")]
        command += ["--plan", str(captures / "plan.json")]
        command += ["--captures", str(captures), "--output", str(folder)]
        found[count] = captures, measure("reconcile", count, command, 2, folder)
    return found


def test_a_large_run_balances_as_the_recorded_one_does(runs):
    captures, _ = runs[LARGE]
    verdict = json.loads((captures.parent / "verdict.json").read_text())
    bad = {c["id"]: c["reason"] for c in verdict["checks"] if c["status"] != "pass"}
    assert list(bad) == ["ruler"], bad  # this run has none
    with (captures.parent / "results.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    kernels = [row for row in rows if row["level"] == "kernel"]
    assert {row["status"] for row in kernels} == {"verified"}
    assert sum(int(row["nsys_count"]) for row in kernels) == pytest.approx(LARGE, rel=0.01)


def test_the_time_of_a_reconciliation_grows_as_its_captures_do(runs):
    small, large = (runs[count][1].cpu_s for count in (SMALL, LARGE))
    exponent = log(large / small) / log(LARGE / SMALL)
    assert exponent < STEEPEST, (small, large)


def test_a_kernel_takes_less_memory_than_objects_would(runs):
    small, large = (runs[count][1].peak_mb for count in (SMALL, LARGE))
    assert (large - small) * 2**20 / (LARGE - SMALL) < MOST_BYTES, (small, large)


def test_no_object_is_made_of_an_operation_that_nobody_looks_at(runs, monkeypatch):
    from kernel_ledger.capture import read_case
    from kernel_ledger.plan_file import read_plan
    from kernel_ledger.reconcile import reconcile_case
    from kernel_ledger.verdict import examine

    made = 0
    iterate = Records.__iter__

    def counted(self):
        nonlocal made
        for row in iterate(self):
            made += 1
            yield row

    monkeypatch.setattr(Records, "__iter__", counted)
    captures, _ = runs[SMALL]
    plan = read_plan(captures / "plan.json")
    case = read_case(plan, plan.cases[0], captures)
    examine(plan, case, reconcile_case(plan, case))
    assert 0 < made < SMALL / 10


def test_a_variant_of_many_kernels_does_not_compare_each_row_with_each(tmp_path, monkeypatch):
    from kernel_ledger import traffic
    from kernel_ledger.capture import read_case
    from kernel_ledger.plan_file import read_plan
    from kernel_ledger.reconcile import reconcile_case

    asked = 0
    ask = traffic.in_library

    def counted(case, row):
        nonlocal asked
        asked += 1
        return ask(case, row)

    monkeypatch.setattr(traffic, "in_library", counted)
    scenario = factory.tiny()
    scenario.variants["eager"] = [factory.Launch(f"kernel_{n}", "aten::mul", 30_000 + n) for n in range(150)]
    captures = factory.written(tmp_path, scenario)
    plan = read_plan(captures / "plan.json")
    rows = reconcile_case(plan, read_case(plan, plan.cases[0], captures))
    assert len(rows) > 150 and asked <= 2 * len(rows)


def test_a_table_of_one_key_holds_no_column_twice():
    """The bound of nsys_table in make bench rests on it: four columns of 8 bytes a kernel, and no more."""
    import tracemalloc

    import numpy as np

    name, duration = np.arange(200_000) % 7, np.arange(200_000) % 1009
    tracemalloc.start()
    grouped([name], duration)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 3.5 * name.nbytes


def random_block(rng: random.Random) -> bytes:
    words = [
        *(w.replace("_?", rng.choice(["", "_"])) for w in WORDS),
        "AUTH",
        "KEY",
        "PASS",
        "NAME",
        "A_",
        "9",
    ]
    parts = []
    for _ in range(rng.randrange(60)):
        word = rng.choice(words)
        parts.append(rng.choice([word, word.lower(), word.title(), word * 30]))
        parts.append(
            rng.choice(
                ["", "", "=", "=", '": "', '"  :\n"', '" : 5', "\0", " ", "_", "'", "x" * 5000, "=/tmp/"]
            )
        )
    return "".join(parts).encode()


@pytest.mark.parametrize("seed", range(200))
def test_looking_around_hints_finds_what_the_expression_finds_everywhere(seed):
    block = random_block(random.Random(seed))
    assert [m.span() for m in assignments(block)] == [m.span() for m in ASSIGNMENT.finditer(block)]


def test_each_word_of_a_credential_has_letters_that_are_looked_for_first():
    for word in (*WORDS, "AUTH"):
        assert any(letters.decode() in word.replace("_?", "") for letters in LETTERS), word


@pytest.mark.parametrize("shift", [*range(0, 200, 7), 3000, LONGEST - 5])
def test_a_secret_that_two_blocks_share_is_found_once_and_whole(tmp_path, monkeypatch, shift):
    size = 4 * LONGEST
    text = (
        b"." * (size - shift)
        + b"\nHF_TOKEN=/tmp/"
        + b"q" * 60
        + b" AWS_SECRET_KEY=abcd1234efgh\n"
        + b"." * size
    )
    (tmp_path / "log.txt").write_bytes(text)
    (tmp_path / "trace.json.gz").write_bytes(gzip.compress(text))
    monkeypatch.setattr("kernel_ledger.leaks.blocks", lambda path, shared: blocks(path, shared, size))
    found = [(leak.variable, leak.file) for leak in leaks.search(tmp_path)]
    assert found == [("AWS_SECRET_KEY", "log.txt"), ("AWS_SECRET_KEY", "trace.json.gz")]
    assert len(list(blocks(tmp_path / "log.txt", LONGEST, size))) > 1
