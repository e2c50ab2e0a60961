"""Every fault of the registry leads to the right status, verdict and reason; none goes unseen."""

from __future__ import annotations

import pytest
from faults import REGISTRY
from faults.bench import Bench
from faults.fault import ERROR, HARMLESS, Fault
from faults.page import COMMAND, PAGE, page

from kernel_ledger.checks import CHECKS
from kernel_ledger.errors import LedgerError

VERDICTS = {"fail": "refuted", "unknown": "unverifiable"}
FOR_PEOPLE = ("torch_source", "nsys_source")


def of(check: str | None = None) -> list:
    chosen = [f for f in REGISTRY if (f.check if f.check in (ERROR, HARMLESS) else "check") == check]
    return [pytest.param(f, id=f.id) for f in chosen]


@pytest.fixture
def bench(tmp_path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize("fault", of("check"))
def test_a_fault_is_answered_by_its_check_its_row_and_the_verdict(bench, fault: Fault):
    fault.inject(bench)
    rows, verdict = bench.reconciled()
    checks = {check["id"]: check for check in verdict["checks"]}
    answer = checks[fault.check]
    assert answer["status"] == fault.status, checks
    for phrase in fault.says:
        assert phrase in answer["reason"]
    assert "Next: " in answer["reason"]
    fired = {name for name, check in checks.items() if check["status"] in VERDICTS}
    assert fired == {fault.check, *fault.also}
    failed = any(checks[name]["status"] == "fail" for name in fired)
    assert verdict["verdict"] == VERDICTS["fail" if failed else "unknown"]
    if fault.row:
        level, variant, part, status = fault.row
        found = [r for r in rows if (r["level"], r["variant"]) == (level, variant) and part in r["name"]]
        assert [r["status"] for r in found] == [status] * max(1, len(found)), found
        assert status == "verified" or all(r["reason"] for r in found)


@pytest.mark.parametrize("fault", of(ERROR))
def test_a_fault_before_any_table_stops_the_command_and_says_what_to_do(bench, fault: Fault):
    with pytest.raises(LedgerError) as raised:
        fault.inject(bench)
    assert type(raised.value).__name__ == fault.status
    for phrase in fault.says:
        assert phrase in str(raised.value)
    assert raised.value.next_step


@pytest.mark.parametrize("fault", of(HARMLESS))
def test_a_fault_that_is_read_past_changes_no_number_of_the_table(bench, tmp_path, fault: Fault):
    told = fault.inject(bench)
    if told is not None:
        assert [phrase for phrase in fault.says if phrase not in told] == []
        return
    rows, verdict = bench.reconciled()
    assert verdict["verdict"] == "verified", verdict
    expected, _ = Bench(tmp_path / "healthy").reconciled()
    assert list(map(numbers, rows)) == list(map(numbers, expected))


def numbers(row: dict) -> dict:
    return {name: value for name, value in row.items() if name not in FOR_PEOPLE}


def test_ids_are_unique_and_every_check_has_faults():
    ids = [fault.id for fault in REGISTRY]
    assert sorted(set(ids)) == sorted(ids) and len(ids) >= 60
    assert {fault.check for fault in REGISTRY} >= set(CHECKS)


def test_every_fault_says_how_it_is_injected_and_what_its_reason_holds():
    assert [f.id for f in REGISTRY if not (f.injection and f.field and f.says or f.check == HARMLESS)] == []


def test_the_page_of_faults_is_that_of_the_registry():
    assert PAGE.read_text() == page(), f"repair docs/faults.md with: {COMMAND}"


def reason_of(bench: Bench, id: str) -> str:
    (fault,) = [f for f in REGISTRY if f.id == id]
    fault.inject(bench)
    rows, _ = bench.reconciled()
    (row,) = [r for r in rows if (r["level"], r["variant"]) == ("kernel", "eager") and "Mul" in r["name"]]
    return f"torch_count {row['torch_count']}: {row['reason']}"


@pytest.mark.parametrize(
    ("id", "says"),
    [
        (
            "first-kernels-missing",
            "torch lacks launches of the first 2 calls: its session began late; raise warmup",
        ),
        ("last-kernels-missing", "torch lacks launches from call 7 on: its session ended early"),
        ("launch-without-kernel", "torch lacks launches of the calls 4: records were dropped"),
        ("no-kernel-event", "torch_count None: the torch trace has no GPU operation at all"),
        ("throttled", "not quoted: clocks failed, see verdict.json"),
    ],
)
def test_the_row_itself_says_what_is_lost_and_a_count_that_cannot_be_known_is_empty(bench, id, says):
    assert says in reason_of(bench, id)
