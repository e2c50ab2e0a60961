"""How far two medians may be apart: on both sides of each limit."""

from __future__ import annotations

import json

import capture_factory as factory
import pytest
from test_reconcile import reconciled

from kernel_ledger.evidence import statistics
from kernel_ledger.plan_file import Limits
from kernel_ledger.reconcile.balance import balance, scatter_pct, tolerance_pct

LIMITS = Limits(agreement_pct=1.0, short_kernel_ns=20_000, short_kernel_extra_ns=200, rtol=1e-5, atol=1e-6)


def launches(median: int, scatter: int, count: int = 10):
    """Durations around a median: half below and half above by ``scatter``."""
    return statistics([median + (scatter if i % 2 else -scatter) for i in range(count)])


def test_steady_launches_get_no_more_than_the_agreement():
    assert (
        tolerance_pct(100_000, LIMITS, scatter=scatter_pct(launches(100_000, 300), launches(100_000, 300)))
        == 1.0
    )


def test_launches_that_scatter_by_three_percent_may_differ_by_more():
    torch, nsys = launches(35_660, 500), launches(35_200, 500)  # a layout kernel of cuDNN on an H200
    found = balance(torch, nsys, None, 10, LIMITS)
    assert found.status == "verified" and 1.3 < found.difference_pct < found.tolerance_pct < 5
    assert found.reasons == (
        f"the tolerance is {found.tolerance_pct} %, not 1.0 %: 3 standard errors of the medians, as the launches scatter",
    )


@pytest.mark.parametrize("factor", [1.03, 1.06, 1000])
def test_a_kernel_three_percent_off_is_found_where_launches_are_steady(factor):
    torch, nsys = launches(100_000, 500), launches(int(100_000 * factor), 500)
    assert balance(torch, nsys, None, 10, LIMITS).status == "disagree"


def test_no_scatter_excuses_more_than_five_percent():
    torch, nsys = launches(106_000, 30_000), launches(100_000, 30_000)
    assert balance(torch, nsys, None, 10, LIMITS).status == "disagree"


def test_the_kernels_of_one_operator_do_not_scatter_they_differ():
    durations = [126_000, 186_000] * 5
    torch, nsys = statistics([int(d * 1.02) for d in durations]), statistics(durations)
    assert balance(torch, nsys, None, 10, LIMITS, alike=False).status == "disagree"


def test_one_launch_excuses_nothing():
    assert scatter_pct(statistics([5]), statistics([5])) == 0.0


def test_a_power_cap_in_one_pass_alone_is_named_as_the_cause(tmp_path):
    from test_reconcile import change

    scenario = change(factory.tiny(), "eager", 1, nsys_ns=123_600)
    captures = factory.written(tmp_path, scenario, factory.ruler())
    record = captures / "tiny/n1024/nsys/run.json"
    value = json.loads(record.read_text())
    value["nvml"]["samples"][0]["throttle_reasons"] = ["sw_power_cap"]
    record.write_text(json.dumps(value))
    _, verdict = reconciled(captures, tmp_path / "out")
    reason = next(c["reason"] for c in verdict["checks"] if c["id"] == "agreement")
    assert "met its power cap in nsys alone" in reason
