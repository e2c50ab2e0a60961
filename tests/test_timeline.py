"""The timeline of a case: what stands in the file, to the nanosecond, read back as Perfetto reads it."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections import defaultdict
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import median

import capture_factory as factory
import pytest
from pftrace_reader import read
from workflow_copy import ROOT

from kernel_ledger import kineto
from kernel_ledger.plan_file import read_plan
from kernel_ledger.reconcile import read_table
from kernel_ledger.timeline import case_timeline
from kernel_ledger.timeline.size import recorded_events, trace_events
from kernel_ledger.timeline.slices import Slice, in_order, lanes

REFERENCE = ROOT / "reports/h200-reference"
TORCH, NSYS = "torch.profiler: one process a variant", "Nsight Systems: one process, all variants"


def content_of(captures: Path, workload: str) -> bytes:
    plan = read_plan(captures / "plan.json")
    return case_timeline(plan, next(c for c in plan.cases if c.workload == workload), captures)


@pytest.fixture(scope="module")
def recorded():
    """(slices, attributes, descriptions) of the H200 run's linear_chain."""
    return read(content_of(REFERENCE / "captures", "linear_chain"))


def variants_of(slices):
    return {s.name: s for s in slices if s.path == ("variants",)}


def within(one, variant):
    return variant.start <= one.start and one.end <= variant.end


def test_both_books_are_processes_with_a_host_thread_and_a_gpu_stream(recorded):
    slices, _, _ = recorded
    assert {s.path for s in slices} == {
        ("variants",),
        (TORCH, "host thread 1"),
        (TORCH, "GPU 0 stream 7"),
        (TORCH, "overhead of the profiler"),
        (NSYS, "host thread 1"),
        (NSYS, "GPU 0 stream 7"),
    }


def test_ranges_operators_and_calls_nest_on_the_host(recorded):
    slices, _, _ = recorded
    eager = variants_of(slices)["eager"]
    host = [s for s in slices if s.path == (TORCH, "host thread 1") and within(s, eager)]
    depths = {(s.category, s.name): s.depth for s in host}
    assert depths["range", "linear_chain/eager"] == 0
    assert depths["operator", "aten::linear"] == 1 and depths["operator", "aten::addmm"] == 2
    assert depths["CUDA API", "cudaLaunchKernelExC"] == 3
    ranges = [s for s in slices if s.path == (NSYS, "host thread 1") and s.category == "range"]
    assert len(ranges) == 60 and {s.arguments["domain"] for s in ranges} == {"kernel_ledger"}


def test_the_first_range_of_a_variant_begins_at_one_time_in_both_books(recorded):
    slices, _, _ = recorded
    first = defaultdict(dict)
    for one in slices:
        if one.category == "range" and one.name.startswith("linear_chain/"):
            book = first[one.name.rpartition("/")[2]]
            book[one.path[0]] = min(one.start, book.get(one.path[0], one.start))
    assert set(first) == {"eager", "fused", "fused_scalar", "compiled", "copy", "add"}
    for variant, starts in first.items():
        told = variants_of(slices)[variant].arguments["both books' first range begins at (ns)"]
        assert starts == {TORCH: told, NSYS: told}


def test_variants_follow_one_another_without_touching(recorded):
    slices, _, _ = recorded
    axis = sorted(variants_of(slices).values(), key=lambda s: s.start)
    assert [s.name for s in axis] == ["eager", "fused", "fused_scalar", "compiled", "copy", "add"]
    assert all(b.start - a.end == 1_000_000 for a, b in zip(axis, axis[1:], strict=False))


def test_durations_are_those_of_the_table_to_the_nanosecond(recorded):
    slices, _, _ = recorded
    axis = variants_of(slices)
    rows = [r for r in read_table(REFERENCE / "results.csv") if r["workload"] == "linear_chain"]
    compared = 0
    for row in rows:
        if row["level"] not in ("kernel", "memory"):
            continue
        for book, name in (("torch", TORCH), ("nsys", NSYS)):
            own = [s.duration for s in slices
                   if s.path[0] == name and s.category == row["level"] and s.name == row["name"].split(" [")[0]
                   and within(s, axis[row["variant"]])]  # fmt: skip
            assert (len(own), sum(own)) == (row[f"{book}_count"], row[f"{book}_total_ns"]), row["name"]
            assert median(own) == row[f"{book}_median_ns"]
            compared += 1
    assert compared == 28


def test_an_arrow_leads_from_each_launching_call_to_its_gpu_work(recorded):
    slices, _, _ = recorded
    ends = defaultdict(list)
    for one in slices:
        for flow in one.flows:
            ends[flow].append(one)
    for process in (TORCH, NSYS):
        gpu = [s for s in slices if s.path[0] == process and s.category in ("kernel", "memory")]
        assert len(gpu) == 140
        for one in gpu:
            (flow,) = one.flows
            assert sorted(s.category for s in ends[flow]) == sorted(["CUDA API", one.category])
            assert all(s.start <= one.start for s in ends[flow])


def test_the_file_says_how_each_book_was_shifted_and_where_it_came_from(recorded):
    slices, attributes, about = recorded
    assert attributes["workload"] == "linear_chain" and "shifted" in attributes["time axis"]
    assert "shifted" in about[TORCH] and "shifted" in about[NSYS] and "shifted" in about["variants"]
    told = variants_of(slices)["fused"].arguments
    rows = read_table(REFERENCE / "results.csv")
    row = next(r for r in rows if r["variant"] == "fused" and r["level"] == "chain")
    assert told["torch file"] == row["torch_source"] and told["nsys file"] == row["nsys_source"]
    assert told["nsys shifted by (ns)"] + 51_707_452 == told["both books' first range begins at (ns)"]


def test_the_same_captures_give_the_same_bytes_within_a_sensible_size():
    for workload, limit in (("linear_chain", 100_000), ("ruler", 700_000)):
        content = content_of(REFERENCE / "captures", workload)
        assert content == content_of(REFERENCE / "captures", workload)
        assert len(content) < limit


def test_the_rules_script_writes_the_file_without_torch(tmp_path):
    output = tmp_path / "a folder/x.pftrace"
    command = [sys.executable, "-c", "import sys, runpy; sys.modules['torch'] = None; sys.argv = sys.argv[1:];"
               " runpy.run_path(sys.argv[0], run_name='__main__')", ROOT / "scripts/timeline.py",
               "--plan", REFERENCE / "captures/plan.json", "--captures", REFERENCE / "captures",
               "--workload", "linear_chain", "--case", "rows65536_dim1024", "--output", output]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert output.read_bytes() == content_of(REFERENCE / "captures", "linear_chain")


def test_a_book_that_cannot_be_read_leaves_its_reason_and_the_other_is_drawn(tmp_path):
    captures = factory.written(tmp_path)
    (captures / "tiny/n1024/nsys/report.sqlite").write_bytes(b"no database")
    (captures / "tiny/n1024/torch/eager/trace.json.gz").write_bytes(b"\x1f\x8b")
    slices, _, _ = read(content_of(captures, "tiny"))
    axis = variants_of(slices)
    assert set(axis) == {"fused", "copy"}
    assert "nsys is not shown" in axis["fused"].arguments
    assert {s.path[0] for s in slices} == {"variants", TORCH}


def test_a_capture_without_any_book_is_a_file_that_opens(tmp_path):
    captures = factory.written(tmp_path)
    for path in [*captures.rglob("*.sqlite"), *captures.rglob("trace.json.gz")]:
        path.unlink()
    slices, attributes, about = read(content_of(captures, "tiny"))
    assert slices == [] and {TORCH, NSYS} <= set(about)
    assert "torch/eager: there is no trace" in attributes["not shown"]


def test_hostile_names_stay_text(tmp_path):
    scenario = factory.tiny()
    scenario.variants["eager"][1].symbol = "</script>|`\x1b[31m" + "n" * 5000
    slices, _, _ = read(content_of(factory.written(tmp_path, scenario), "tiny"))
    assert sum(s.name == scenario.variants["eager"][1].symbol for s in slices) == 20


def slice_of(start, end, name="x"):
    return Slice(start, end, name, "operator", "t", start)


def test_slices_that_overlap_without_nesting_get_a_lane_of_their_own():
    a, b, c, d = slice_of(0, 10), slice_of(2, 5), slice_of(4, 12), slice_of(12, 13)
    assert lanes(in_order([d, c, b, a])) == [[a, b, d], [c]]


def test_a_record_that_ends_before_it_starts_is_an_instant_that_says_so(tmp_path):
    from kernel_ledger.timeline.pftrace import Trace

    trace = Trace({})
    trace.lane(trace.track("t"), [slice_of(50, 20), slice_of(60, None)], 1000)
    slices, _, _ = read(trace.serialize())
    assert [(s.start, s.end, s.arguments["not a slice"]) for s in slices] == [
        (1050, None, "ends 30 ns before it starts"),
        (1060, None, "never closed"),
    ]


def limited(captures: Path, most: int):
    plan = replace(read_plan(captures / "plan.json"), timeline_events=most)
    return read(case_timeline(plan, next(c for c in plan.cases if c.workload == "tiny"), captures))


def test_recordings_too_large_for_a_timeline_are_left_out_with_the_reason(tmp_path):
    captures = factory.written(tmp_path)
    folder = captures / "tiny/n1024"
    events = {v: trace_events(folder / f"torch/{v}/trace.json.gz") for v in ("eager", "fused", "copy")}
    for variant, count in events.items():
        kept = len(kineto.decode(folder / f"torch/{variant}/trace.json.gz").traceEvents)
        assert kept <= count <= kept + 1, "the mark of the record's end is none that is read"
    recorded = recorded_events(folder / "nsys/report.sqlite")
    with closing(sqlite3.connect(folder / "nsys/report.sqlite")) as connection:
        kernels = connection.execute("SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()[0]
    assert recorded > kernels > 0
    slices, attributes, _ = limited(captures, sum(events.values()) + recorded)
    assert {s.path[0] for s in slices} == {"variants", TORCH, NSYS} and "not shown" not in attributes
    slices, attributes, _ = limited(captures, sum(events.values()) + recorded - 1)
    assert {s.path[0] for s in slices} == {"variants", TORCH}
    assert f"{recorded} events, after {sum(events.values())} of other recordings" in attributes["not shown"]
    assert "limits.timeline_events" in attributes["not shown"]


def test_a_run_without_such_a_limit_in_its_plan_gets_the_default(tmp_path):
    captures = factory.written(tmp_path)
    assert read_plan(captures / "plan.json").timeline_events == 2_000_000
