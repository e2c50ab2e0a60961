"""Large runs do not drown: what grows beyond a limit is refused or left out, and says so."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from kernel_ledger.claims.functions import NotTested, key_averages
from kernel_ledger.errors import LedgerError, PassError
from kernel_ledger.limits import GB, Limits, limits_of


def test_a_pass_with_too_many_events_is_refused_with_the_count_and_the_key(tmp_path):
    with pytest.raises(PassError, match=r"11(.|\n)*limits\.max_events|limits\.max_events(.|\n)*11"):
        Limits(max_events=10).check_events(11, tmp_path)
    Limits(max_events=10).check_events(10, tmp_path)


def test_a_file_beyond_the_limit_or_the_disk_is_refused_before_it_is_written(tmp_path):
    with pytest.raises(LedgerError, match="max_disk_gb"):
        Limits(max_disk_gb=1).check_disk(2 * GB, tmp_path, "the trace")
    with pytest.raises(LedgerError, match="make room"):
        Limits(max_disk_gb=10**6).check_disk(10**6 * GB, tmp_path, "the trace")
    Limits().check_disk(1000, tmp_path, "the trace")


def test_a_plan_of_an_earlier_version_gets_the_default_limits():
    assert limits_of({}) == Limits() and limits_of({"limits": {"max_events": 7}}).max_events == 7


def test_the_configurations_defaults_are_the_limits_defaults():
    from kernel_ledger.config import SizeLimits

    assert limits_of({"limits": SizeLimits().model_dump()}) == Limits()


def test_skipped_averages_say_why_in_both_files_and_hold_no_claim(tmp_path):
    torch_profile = pytest.importorskip("kernel_ledger.passes.torch_profile")
    torch_profile.skip_tables(tmp_path, "key_averages() was skipped: 7 events")
    assert "skipped: 7 events" in (tmp_path / "key_averages.txt").read_text()
    with (tmp_path / "key_averages.csv").open(newline="") as stream:
        (row,) = csv.DictReader(stream)
    assert row["grouping"] == "skipped" and "7 events" in row["name"]
    with pytest.raises(NotTested, match="7 events"):
        key_averages(tmp_path / "key_averages.csv")


def test_a_raised_limit_reaches_the_passes_again_and_another_of_no_pass_does_not(monkeypatch):
    from kernel_ledger.study import prepare

    monkeypatch.chdir(Path(__file__).parents[1])

    def told(**limits):
        study = prepare({"device": "cpu", "limits": limits})
        return study.told("linear_chain", study.plan["cases"][0]["case"])

    assert told(max_events=10) != told()
    assert told(timeline_events=10) == told()
