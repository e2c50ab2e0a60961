"""The history of all runs: one dataset, nothing lost, nothing twice, and the first run of a new level marked."""

import json
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from history_runs import medians, write_many, write_run
from pass_runs import ROOT

from kernel_ledger.columns import NAMES
from kernel_ledger.errors import EvidenceError
from kernel_ledger.history import dataset, levels
from kernel_ledger.history.facts import median_limits, run_rows
from kernel_ledger.history.levels import changes
from kernel_ledger.history.update import draw, update


@pytest.fixture
def reports(tmp_path):
    return tmp_path / "reports"


def runs_in(folder):
    return sorted(dataset.series(folder / "runs")["run"].to_pylist())


def test_the_reference_run_is_read_with_its_machine_and_intervals():
    rows = run_rows(ROOT / "reports" / "h200-reference")
    block = next(r for r in rows if (r["variant"], r["level"]) == ("eager", "block"))
    assert block["machine"] == "NVIDIA H200" and block["verdict"] == "verified" and block["driver"]
    assert block["event_low_ns"] <= block["event_median_ns"] <= block["event_high_ns"]
    assert all(row["run"] == "h200-reference" for row in rows) and len(rows) > 20


def test_new_runs_are_added_and_what_is_known_is_not_read_again(reports):
    history = reports / "history"
    write_run(reports, "a", 1000, day=1)
    assert update(reports, history).added == ("a",)
    write_run(reports, "b", 1001, day=2, commit="f" * 40)
    assert update(reports, history).added == ("b",) and update(reports, history).added == ()
    assert runs_in(history) == ["a", "b"] and len(dataset.parts(history / "runs")) == 2
    assert dataset.series(history / "runs")["commit"].to_pylist() == [None, "f" * 40]


def test_a_run_that_was_measured_again_replaces_its_older_self(reports):
    history = reports / "history"
    write_run(reports, "a", 1000)
    write_run(reports, "b", 1000)
    update(reports, history)
    (reports / "a").rename(reports.parent / "gone")
    write_run(reports, "a", 2000)
    assert update(reports, history).added == ("a",) and runs_in(history) == ["a", "b"]
    assert sorted(dataset.series(history / "runs")["event_median_ns"].to_pylist()) == [1000, 2000]


def test_a_run_whose_folder_is_gone_stays_until_the_dataset_is_made_anew(reports):
    history = reports / "history"
    write_run(reports, "a", 1000)
    write_run(reports, "b", 1000)
    update(reports, history)
    (reports / "a").rename(reports.parent / "gone")
    assert update(reports, history).total == 2 and runs_in(history) == ["a", "b"]
    assert update(reports, history, rebuild=True).total == 1 and runs_in(history) == ["b"]


def test_a_table_that_was_changed_after_it_was_judged_is_left_out_with_the_reason(reports):
    write_run(reports, "a", 1000)
    table = reports / "a" / "results.csv"
    table.write_text(table.read_text().replace("1000", "900"))
    assert "not the one that was judged" in update(reports, reports / "history").skipped["a"]


def test_a_table_of_another_version_is_read_as_far_as_it_is_known(reports):
    columns = [name for name in NAMES if name != "cache_resident"] + ["a_later_column"]
    write_run(reports, "a", 1000, columns=columns)
    [row] = run_rows(reports / "a")
    assert "a_later_column" not in row and row["event_median_ns"] == 1000
    assert update(reports, reports / "history").total == 1


def test_many_files_become_one_and_a_killed_compaction_is_mended(reports, monkeypatch):
    monkeypatch.setattr(dataset, "MANY", 3)
    history = reports / "history"
    for number in range(5):
        write_run(reports, f"r{number}", 1000)
        update(reports, history)
    assert len(dataset.parts(history / "runs")) == 2 and len(runs_in(history)) == 5
    *_, newest = dataset.parts(history / "runs")
    older = dataset.parts(history / "runs")[0]
    (history / "runs" / "part-000099.parquet").write_bytes(older.read_bytes())
    assert len(runs_in(history)) > 5
    update(reports, history)
    assert len(runs_in(history)) == 5


def test_the_median_of_twenty_samples_lies_between_the_sixth_and_the_fifteenth():
    assert median_limits(list(range(1, 21))) == (6, 15)
    assert median_limits([1, 2, 3, 4, 5]) is None


def test_the_limits_hold_the_median_as_often_as_they_say():
    generator, held = np.random.default_rng(3), 0
    for _ in range(2000):
        low, high = median_limits(generator.exponential(1, 30))
        held += low <= np.log(2) <= high
    assert 0.94 < held / 2000 < 0.98


def test_of_500_flat_series_at_most_one_in_a_hundred_is_marked():
    generator = np.random.default_rng(2026)
    marked = sum(any(c.confirmed for c in changes(medians(generator, 100))) for _ in range(500))
    assert marked <= 5, f"{marked} of 500"


def test_a_step_of_five_percent_is_marked_at_its_first_run():
    generator, right = np.random.default_rng(2026), 0
    for _ in range(500):
        values, first = medians(generator, 60), int(generator.integers(10, 55))
        values[first:] *= 1.05
        right += [c.index for c in changes(values) if c.confirmed] == [first]
    assert right >= 485, f"{right} of 500"


def test_two_odd_runs_are_no_change_and_the_newest_are_only_suspected():
    flat = [1000.0] * 20
    assert changes([*flat, 1100, 1100, *flat]) == []
    [change] = changes([*flat, 1050, 1050])
    assert change.index == 20 and not change.confirmed
    assert [c.index for c in changes([*flat, *[1050.0] * 10, *flat]) if c.confirmed] == [20, 30]


def test_nothing_is_marked_before_there_is_a_level():
    assert changes([1000.0] * (levels.FIRST - 1)) == [] and changes([]) == []


def test_a_change_is_told_with_run_and_commit_and_drawn(reports):
    history = reports / "history"
    for number in range(20):
        slower = 1.05 if number >= 12 else 1
        write_run(
            reports,
            f"r{number:02d}",
            round(1e6 * slower) + number % 3,
            day=number + 1,
            commit=f"{number:040x}",
        )
    write_run(reports, "odd", 3_000_000, day=8, verdict="refuted")
    update(reports, history)
    [trend] = draw(history, last=300)
    [told] = (history / "changes.txt").read_text().splitlines()
    assert told == "w/c v on NVIDIA H200: 1 -> 1.05 ms (+5.0 %) since run r12, commit 000000000000"
    assert trend.points[trend.changes[0].index]["run"] == "r12", "a run that is not verified takes no part"
    [drawn] = history.glob("*.svg")
    words = "".join(ElementTree.parse(drawn).getroot().itertext())
    assert "+5.0 % since r12" in words and "odd: 3 ms, refuted" in words


def test_ten_thousand_runs_answer_within_a_second(tmp_path):
    write_many(tmp_path, 10_000)
    started = time.process_time()
    table = dataset.series(tmp_path)
    seconds = time.process_time() - started
    assert table.num_rows == 40_000 and seconds < 1, f"{seconds:.2f} s"


def test_duckdb_reads_the_dataset_as_it_lies(tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="the extra `history` has it")
    write_many(tmp_path, 10_000)
    question = f"""
        SELECT variant, count(DISTINCT run), median(event_median_ns)
        FROM read_parquet('{tmp_path}/*.parquet', union_by_name = true)
        WHERE level = 'block' AND verdict = 'verified' GROUP BY variant ORDER BY variant"""
    started = time.process_time()
    rows = duckdb.sql(question).fetchall()
    seconds = time.process_time() - started
    assert [row[:2] for row in rows] == [(v, 10_000) for v in ("compiled", "copy", "eager", "fused")]
    assert seconds < 1, f"{seconds:.2f} s"


def test_make_historys_script_needs_no_arguments(reports):
    write_run(reports, "a", 1000)
    words = [
        sys.executable,
        ROOT / "scripts" / "history.py",
        "--reports",
        reports,
        "--output",
        reports / "history",
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "1 runs added, 1 in" in done.stdout, done.stderr


def test_a_replay_is_no_further_measurement(reports):
    write_run(reports, "a", 1000)
    write_run(reports, "replay", 1000)
    path = reports / "replay" / "verdict.json"
    path.write_text(
        json.dumps(json.loads(path.read_text()) | {"replay_of": {"captures": "../a", "sha256": "0"}})
    )
    updated = update(reports, reports / "history")
    assert updated.added == ("a",) and "a replay measured nothing" in updated.skipped["replay"]


@pytest.mark.parametrize("content", [b"", b"PAR1 and no more"])
def test_a_damaged_file_of_the_dataset_is_named_with_the_way_out(reports, content):
    write_run(reports, "a", 1000)
    update(reports, reports / "history")
    (part,) = dataset.parts(reports / "history" / "runs")
    part.write_bytes(content)
    with pytest.raises(EvidenceError, match="damaged") as caught:
        update(reports, reports / "history")
    assert part.name in str(caught.value) and "come back" in str(caught.value)
    part.unlink()
    assert update(reports, reports / "history").added == ("a",)
