"""Traces and exports in, rows and verdict out: what a user reads of a small capture."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import capture_factory as factory
import pytest

from kernel_ledger.files import read_json
from kernel_ledger.reconcile import read_table

ROOT = Path(__file__).parents[1]


@pytest.fixture
def ledger(tmp_path):
    """A function that writes scenarios, reconciles them, and returns (rows, verdict)."""

    def run(*scenarios):
        captures = factory.written(tmp_path, *scenarios)
        return reconciled(captures, tmp_path / "out")

    return run


def reconciled(captures: Path, output: Path):
    command = [sys.executable, ROOT / "scripts/reconcile.py", "--plan", captures / "plan.json"]
    command += ["--captures", captures, "--output", output]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return read_table(output / "results.csv"), read_json(output / "verdict.json")


def statuses(verdict):
    return {c["id"]: c["status"] for c in verdict["checks"]}


def test_a_healthy_capture_is_verified_in_every_row_and_check(ledger):
    rows, verdict = ledger()
    assert [r for r in rows if r["status"] != "verified"] == []
    assert verdict["verdict"] == "verified", verdict


def change(scenario, variant, index, **fields):
    launches = list(scenario.variants[variant])
    launches[index] = replace(launches[index], **fields)
    scenario.variants = scenario.variants | {variant: launches}
    return scenario


def row_of(rows, level, variant, part):
    (row,) = [r for r in rows if (r["level"], r["variant"]) == (level, variant) and part in r["name"]]
    return row


def test_a_difference_within_one_percent_is_verified_and_shown(ledger):
    rows, verdict = ledger(change(factory.tiny(), "eager", 1, nsys_ns=120_900), factory.ruler())
    row = row_of(rows, "kernel", "eager", "Mul")
    assert (row["status"], row["difference_pct"]) == ("verified", -0.7444)
    assert verdict["verdict"] == "verified"


def test_a_kernel_three_percent_slower_in_one_book_is_named(ledger):
    rows, verdict = ledger(change(factory.tiny(), "eager", 1, nsys_ns=123_600), factory.ruler())
    row = row_of(rows, "kernel", "eager", "Mul")
    assert row["status"] == "disagree" and "medians differ by -2.9126 %" in row["reason"]
    assert statuses(verdict)["agreement"] == "fail" and verdict["verdict"] == "refuted"


def test_a_short_kernel_gets_an_absolute_term(ledger):
    scenario = change(factory.tiny(), "eager", 1, ns=2_000, nsys_ns=2_150)
    rows, verdict = ledger(scenario, factory.ruler())
    row = row_of(rows, "kernel", "eager", "Mul")
    assert (row["status"], row["tolerance_pct"]) == ("verified", 11.0)


def test_one_symbol_with_two_launch_geometries_is_two_rows_in_both_books(ledger):
    scenario = factory.tiny()
    mul = scenario.variants["eager"][1]
    scenario.variants["eager"] = [*scenario.variants["eager"], replace(mul, grid=(7, 1, 1), ns=50_000)]
    rows, verdict = ledger(scenario, factory.ruler())
    found = [r for r in rows if r["level"] == "kernel" and r["variant"] == "eager" and "Mul" in r["name"]]
    assert [(r["grid"], r["torch_median_ns"], r["nsys_median_ns"]) for r in found] == [
        ("1024x1x1", 120_000, 120_000),
        ("7x1x1", 50_000, 50_000),
    ]
    assert verdict["verdict"] == "verified"


def test_a_kernel_of_two_operators_keeps_them_both_and_no_operator_claims_its_nsys_time(ledger):
    scenario = factory.tiny()
    mul = scenario.variants["eager"][1]
    scenario.variants["eager"] = [*scenario.variants["eager"], replace(mul, operator="aten::div")]
    rows, _ = ledger(scenario, factory.ruler())
    assert row_of(rows, "kernel", "eager", "Mul")["operator"] == "aten::div | aten::mul"
    row = row_of(rows, "operator", "eager", "aten::div")
    assert (row["status"], row["nsys_total_ns"]) == ("unknown", None)
    assert "nsys cannot tell" in row["reason"]


def test_every_gpu_operation_ends_in_exactly_one_row(ledger):
    rows, _ = ledger()
    operations = [r for r in rows if r["level"] in ("kernel", "memory")]
    assert sum(r["torch_count"] for r in operations) == 10 * (3 + 2 + 1 + 1)
    assert sum(r["nsys_count"] for r in operations) == 10 * (3 + 2 + 1 + 1)


def test_the_chain_leaves_the_library_kernel_out_and_carries_the_traffic(ledger):
    rows, _ = ledger()
    row = row_of(rows, "chain", "fused", "fused")
    assert (row["nsys_median_ns"], row["model_bytes"]) == (90_000, 3 * 4 * 1048576)
    assert row["achieved_bytes_per_s"] == round(3 * 4 * 1048576 / 90_000 * 1e9)
    assert row["fraction_of_copy"] == 1.0


def test_a_working_set_within_the_l2_is_marked(tmp_path):
    captures = factory.written(tmp_path)
    plan = json.loads((captures / "plan.json").read_text())
    plan["cases"][0]["working_set"] = 60 << 20
    (captures / "plan.json").write_text(json.dumps(plan))
    rows, _ = reconciled(captures, tmp_path / "out")
    assert {r["cache_resident"] for r in rows if r["workload"] == "tiny"} == {True}


def test_an_announced_kernel_that_nobody_saw_has_a_row(ledger):
    scenario = factory.tiny()
    scenario.kernels["fused"]["never_launched"] = 2
    rows, verdict = ledger(scenario, factory.ruler())
    row = row_of(rows, "kernel", "fused", "never_launched")
    assert (row["status"], row["expected_count"], row["torch_count"], row["nsys_count"]) == (
        "disagree",
        20,
        0,
        0,
    )
    assert statuses(verdict)["conservation"] == "fail"


def test_an_unreadable_trace_leaves_unknown_rows_not_missing_ones(tmp_path):
    captures = factory.written(tmp_path)
    (captures / "tiny/n1024/torch/eager/trace.json.gz").write_bytes(b"\x1f\x8b")
    rows, verdict = reconciled(captures, tmp_path / "out")
    row = row_of(rows, "kernel", "eager", "Mul")
    assert (row["status"], row["torch_count"], row["nsys_count"]) == ("unknown", None, 10)
    assert "truncated" in row["reason"]
    assert verdict["verdict"] == "refuted"


def test_hostile_names_break_no_row_and_start_no_formula(ledger):
    scenario = factory.tiny()
    scenario.variants["eager"][1] = replace(
        scenario.variants["eager"][1], symbol='=cmd|"a", <b>;x', operator="@sum"
    )
    rows, verdict = ledger(scenario, factory.ruler())
    row = row_of(rows, "kernel", "eager", "=cmd")
    assert (row["name"], row["operator"]) == ('=cmd|"a", <b>;x', "@sum")


def test_the_table_is_the_same_bytes_every_time(tmp_path):
    captures = factory.written(tmp_path)
    for _ in range(2):
        reconciled(captures, tmp_path / "a")
        first = (tmp_path / "a/results.csv").read_bytes()
    reconciled(captures, tmp_path / "a")
    assert (tmp_path / "a/results.csv").read_bytes() == first
