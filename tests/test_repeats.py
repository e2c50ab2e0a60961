"""Repeats: in which order processes run, what their pooled table says, and what no pooling may hide."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import capture_factory as factory
import pytest
from repeated_captures import written
from test_reconcile import change, reconciled, row_of, statuses

from kernel_ledger.plan_file import Limits
from kernel_ledger.reconcile.balance import odd_repeats, tolerance_pct
from kernel_ledger.repeats import Step, folder, number, position, predecessor, schedule

PASSES = ("numerics", "timing", "torch", "nsys")
MUL = "binary_internal::MulFunctor"


@pytest.fixture
def ledger(tmp_path):
    return lambda *repeats: reconciled(written(tmp_path, *repeats), tmp_path / "out")


def slower(book_ns):
    """The tiny case with a multiplication of 120 us that takes ``book_ns`` in nsys."""
    return change(factory.tiny(), "eager", 1, nsys_ns=book_ns)


def mul(rows, level="kernel"):
    return row_of(rows, level, "eager", "Mul" if level == "kernel" else "")


def test_every_second_repeat_runs_the_other_way_round_with_the_variants_in_the_plans_order():
    order = [(s.pass_name, s.variant, s.repeat) for s in schedule(PASSES, ["eager", "fused"], 3)]
    one, two = order[:4], order[4:8]
    assert [step[:2] for step in one] == [
        ("timing", None),
        ("torch", "eager"),
        ("torch", "fused"),
        ("nsys", None),
    ]
    assert [step[:2] for step in two] == [
        ("nsys", None),
        ("torch", "eager"),
        ("torch", "fused"),
        ("timing", None),
    ]
    assert [step[:2] for step in order[8:]] == [step[:2] for step in one] and {s[2] for s in two} == {2}


def test_the_chain_of_predecessors_is_the_schedule_whatever_the_number_of_repeats():
    steps = schedule(PASSES, ["eager", "fused"], 4)
    assert [predecessor(PASSES, ["eager", "fused"], step) for step in steps] == [None, *steps[:-1]]
    assert [position(PASSES, ["eager", "fused"], step) for step in steps] == list(range(1, 17))
    assert len({step.record for step in steps}) == 16


def test_a_pass_that_the_machine_cannot_make_has_no_place_in_the_order():
    steps = schedule(("numerics", "timing", "torch"), ["eager"], 2)
    assert [s.pass_name for s in steps] == ["timing", "torch", "torch", "timing"]


def test_the_first_repeat_lies_where_a_single_one_lies():
    assert Step("torch", "eager", 1).record == "torch/eager/run.json"
    assert Step("nsys", None, 3).record == "repeat-3/nsys/run.json"
    assert [number(folder(n)) for n in (1, 2, 12)] == [1, 2, 12]


def test_three_healthy_repeats_are_verified_and_pooled(ledger):
    rows, verdict = ledger(*(replace(factory.tiny(), jitter=j) for j in (0, 40, 80)))
    assert [r for r in rows if r["status"] != "verified"] == []
    assert verdict["verdict"] == "verified", verdict
    row = mul(rows)
    assert (row["iterations"], row["torch_count"], row["nsys_count"]) == (30, 30, 30)
    assert (
        row["nsys_source"].count("report.sqlite@") == 3
        and "repeat-3/nsys/report.sqlite@" in row["nsys_source"]
    )
    assert (row["tolerance_pct"], row["reason"]) == (1.0, "")
    block, span = mul(rows, "block"), mul(rows, "range")
    assert (block["torch_count"], block["event_samples"]) == (90, 9)
    assert block["torch_median_ns"] == 2_950_000, "a call is one call, not three of the same number"
    assert (span["expected_count"], span["torch_count"], span["nsys_count"]) == (30, 30, 30)
    assert span["host_ns"] and span["gpu_span_ns"] >= span["gpu_busy_ns"]


def test_an_announced_count_is_that_of_all_repeats(ledger):
    rows, _ = ledger(factory.tiny(), factory.tiny())
    row = row_of(rows, "kernel", "fused", "fused_chain")
    assert row["expected_count"] == row["torch_count"] == row["nsys_count"] == 20


def test_the_standard_deviation_is_that_of_the_pooled_records(ledger):
    rows, _ = ledger(slower(120_000), slower(120_600))
    assert mul(rows)["nsys_stddev_ns"] == round(300 * (20 / 19) ** 0.5, 1)


def test_repeats_that_spread_widen_the_tolerance_and_the_row_says_so(ledger):
    rows, verdict = ledger(slower(120_000), slower(124_000), slower(121_800))
    row = mul(rows)
    assert row["status"] == "verified" and abs(row["difference_pct"]) > 1
    assert 1 < row["tolerance_pct"] <= 5 and "3 standard errors of 3 repeats" in row["reason"]
    assert verdict["verdict"] == "verified"


def test_a_steady_difference_is_not_excused_by_repeating_it(ledger):
    rows, verdict = ledger(*[slower(123_600)] * 3)
    assert (mul(rows)["status"], mul(rows)["tolerance_pct"]) == ("disagree", 1.0)
    assert statuses(verdict)["agreement"] == "fail"


def test_one_repeat_in_other_units_is_not_hidden_by_the_pooled_median(ledger):
    rows, verdict = ledger(slower(120_000), slower(120_000_000), slower(120_000))
    assert mul(rows)["status"] == "disagree"
    assert "in repeat 2 alone the medians differ by -99.9 %" in mul(rows)["reason"]
    assert statuses(verdict)["agreement"] == "fail"


LIMITS = Limits(1.0, 20_000, 200, 1e-5, 1e-6)


def test_the_tolerance_never_narrows_and_never_passes_five_percent():
    assert tolerance_pct(100_000, LIMITS, (0.0, 0.0, 0.0)) == 1.0
    assert tolerance_pct(100_000, LIMITS, (-1.0, 1.0)) == 3.0
    assert tolerance_pct(100_000, LIMITS, (-40.0, 40.0)) == 5.0
    assert tolerance_pct(2_000, LIMITS, (-40.0, 40.0)) == 11.0, "the term of short kernels is not capped"
    assert tolerance_pct(100_000, LIMITS, (9.0,)) == 1.0, "one repeat has no spread"


def test_a_repeat_may_be_as_far_off_as_the_widest_tolerance():
    assert odd_repeats((5.0, -5.0), 1.0) == [] and len(odd_repeats((5.1, 0, -5.1), 1.0)) == 2
    assert odd_repeats((10.0, 0), 11.0) == []


def test_a_kernel_lost_in_one_repeat_fails_that_repeats_conservation(ledger):
    lost = factory.tiny()
    lost.variants["fused"] = lost.variants["fused"][:1]
    _, verdict = ledger(factory.tiny(), lost)
    (check,) = [c for c in verdict["checks"] if c["id"] == "conservation"]
    assert check["status"] == "fail" and "tiny/n1024: repeat 2: " in check["reason"]


def test_a_repeat_on_another_gpu_is_refused_with_both_names(tmp_path):
    captures = written(tmp_path, factory.tiny(), factory.tiny())
    path = captures / "tiny/n1024/repeat-2/nsys/run.json"
    path.write_text(path.read_text().replace("GPU-1", "GPU-2"))
    _, verdict = reconciled(captures, tmp_path / "out")
    (check,) = [c for c in verdict["checks"] if c["id"] == "sameness"]
    assert check["status"] == "fail" and "GPU-1" in check["reason"] and "GPU-2" in check["reason"]


def test_all_passes_of_a_repeat_on_another_gpu_are_refused_too(tmp_path):
    captures = written(tmp_path, factory.tiny(), factory.tiny())
    for path in (captures / "tiny/n1024/repeat-2").rglob("run.json"):
        path.write_text(path.read_text().replace("GPU-1", "GPU-2"))
    _, verdict = reconciled(captures, tmp_path / "out")
    assert statuses(verdict)["sameness"] == "fail"


def test_a_file_of_a_repeat_that_was_changed_is_named_with_its_place(tmp_path):
    captures = written(tmp_path, factory.tiny(), factory.tiny())
    (captures / "tiny/n1024/repeat-2/torch/eager/key_averages.csv").write_text("other\n")
    _, verdict = reconciled(captures, tmp_path / "out")
    (check,) = [c for c in verdict["checks"] if c["id"] == "freshness"]
    assert (
        check["status"] == "fail" and "repeat 2: torch/eager/key_averages.csv was changed" in check["reason"]
    )


def test_a_missing_repeat_leaves_unknown_rows_and_no_verified_run(tmp_path):
    captures = written(tmp_path, factory.tiny(), factory.tiny())
    shutil.rmtree(captures / "tiny/n1024/repeat-2")
    rows, verdict = reconciled(captures, tmp_path / "out")
    assert (
        mul(rows)["status"] == "unknown" and "repeat 2: the torch book cannot be read" in mul(rows)["reason"]
    )
    assert mul(rows)["torch_count"] == 10, "what the other repeat has is shown"
    assert "repeat 2: " in mul(rows, "range")["reason"] and mul(rows, "range")["status"] == "unknown"
    assert verdict["verdict"] != "verified"


def test_a_book_that_is_silent_in_one_repeat_leaves_unknown_rows(ledger):
    silent = factory.tiny()
    silent.tamper = lambda book, happened: [
        (*call, [] if book == "nsys" else events) for *call, events in happened
    ]
    rows, verdict = ledger(factory.tiny(), silent)
    assert (
        mul(rows)["status"] == "unknown" and "repeat 2: nsys recorded no GPU operation" in mul(rows)["reason"]
    )
    assert verdict["verdict"] != "verified"


def test_other_kernels_in_the_two_passes_are_shown_and_never_averaged(ledger):
    chosen = factory.tiny()

    def tamper(book, happened):
        return [
            (*call, [(replace(e[0], symbol=e[0].symbol.replace("128x128", "64x64")), *e[1:])
                     if book == "nsys" and call[0] == "eager" and "xmma" in e[0].symbol else e for e in events])
            for *call, events in happened
        ]  # fmt: skip

    chosen.tamper = tamper
    rows, verdict = ledger(chosen)
    gemms = [r for r in rows if r["level"] == "kernel" and r["variant"] == "eager" and "xmma" in r["name"]]
    assert {r["status"] for r in gemms} == {"torch_only", "nsys_only"}
    for row in [*gemms, mul(rows, "block")]:
        assert "variant eager ran other kernels in the two passes (torch sm80" in row["reason"]
    assert mul(rows, "block")["status"] == "disagree" and mul(rows)["reason"] == ""
    assert row_of(rows, "block", "fused", "")["status"] == "verified"
    assert statuses(verdict)["identity"] == "fail"


def test_other_kernels_in_another_repeat_are_shown_and_never_averaged(ledger):
    other = factory.tiny()
    gemm = other.variants["eager"][0]
    other.variants["eager"][0] = replace(gemm, symbol=gemm.symbol.replace("128x128", "64x64"))
    rows, verdict = ledger(factory.tiny(), other, factory.tiny())
    gemms = [r for r in rows if r["level"] == "kernel" and r["variant"] == "eager" and "xmma" in r["name"]]
    assert [(r["status"], r["torch_count"], r["nsys_count"]) for r in gemms] == [
        ("disagree", 20, 20),
        ("disagree", 10, 10),
    ]
    assert all("ran other kernels in the repeats" in r["reason"] for r in gemms)
    assert mul(rows, "block")["status"] == "disagree" and mul(rows)["status"] == "verified"
    (check,) = [c for c in verdict["checks"] if c["id"] == "agreement"]
    assert check["status"] == "fail" and "only in 2" in check["reason"]


def test_a_kernel_that_one_book_lost_is_no_other_choice(tmp_path):
    captures = factory.written(tmp_path)
    path = captures / "tiny/n1024/torch/eager/trace.json.gz"
    trace = factory.trace(factory.tiny(), "eager")
    trace["traceEvents"] = [e for e in trace["traceEvents"] if "Mul" not in e["name"]]
    factory.write_trace(path, trace)
    rows, _ = reconciled(captures, tmp_path / "out")
    assert mul(rows)["status"] == "nsys_only" and "ran other kernels" not in mul(rows)["reason"]


def test_a_plan_without_the_word_repeats_has_one(tmp_path):
    captures = factory.written(tmp_path)
    assert "repeats" not in json.loads((captures / "plan.json").read_text())
    rows, _ = reconciled(captures, tmp_path / "out")
    assert mul(rows)["iterations"] == 10


def own_repeats(captures, **repeats):
    """Let cases have repeats of their own, as a workload's ``repeats`` in config.yaml gives them."""
    path = captures / "plan.json"
    plan = json.loads(path.read_text()) | {"repeats": 1}
    for case in plan["cases"]:
        case["repeats"] = repeats.get(case["workload"])
    path.write_text(json.dumps(plan))
    return captures


def test_a_workload_can_have_repeats_of_its_own(tmp_path):
    captures = own_repeats(written(tmp_path, *[factory.tiny()] * 3), tiny=3)
    for further in captures.glob("ruler/*/repeat-*"):
        shutil.rmtree(further)
    rows, verdict = reconciled(captures, tmp_path / "out")
    assert verdict["verdict"] == "verified"
    iterations = {(row["workload"], row["iterations"]) for row in rows if row["level"] == "block"}
    assert iterations == {("tiny", 30), ("ruler", 10)}


def test_a_missing_repeat_of_such_a_workload_is_missed(tmp_path):
    captures = own_repeats(written(tmp_path, *[factory.tiny()] * 3), tiny=3)
    shutil.rmtree(captures / "tiny/n1024/repeat-3")
    rows, verdict = reconciled(captures, tmp_path / "out")
    assert verdict["verdict"] != "verified" and "repeat 3: the torch book cannot" in mul(rows)["reason"]
