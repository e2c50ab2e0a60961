"""Backward kernels, which another thread launches, and CUDA graphs, one call of which launches many kernels."""

import gzip
import json
import os
import sqlite3

import capture_factory as factory
import nsys_tool
import pytest
from test_reconcile import reconciled, row_of, statuses

from kernel_ledger import process
from kernel_ledger.files import read_json

OTHER = factory.TID + 1
ADD = factory.MUL.replace("Mul", "Add")
CSV = "cuda_gpu_kern_sum_by_range.csv"


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


class Bench:
    """A healthy capture whose books a test changes before it is judged."""

    def __init__(self, root):
        self.root = root
        self.captures = factory.written(root)
        self.case = self.captures / "tiny" / "n1024"
        self.nsys = self.case / "nsys"

    def sql(self, *statements):
        connection = sqlite3.connect(self.nsys / "report.sqlite")
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()

    def trace(self, variant, change):
        path = self.case / "torch" / variant / "trace.json.gz"
        value = json.loads(gzip.decompress(path.read_bytes()))
        change(value["traceEvents"])
        factory.write_trace(path, value)

    def export(self):
        """The CSVs again, by the real tool, from the changed export."""
        tool = nsys_tool.real_nsys()
        for name in ("nvtx_sum", "nvtx_gpu_proj_sum", "nvtx_kern_sum", "cuda_gpu_kern_sum"):
            self.stats(tool, name, f"{name}.csv")
        self.stats(tool, "cuda_gpu_kern_sum:nvtx-name:mangled", CSV)

    def stats(self, tool, report, name):
        command = [tool, "stats", "-r", report, "-f", "csv", "-o", "-", "-q", self.nsys / "report.sqlite"]
        done = process.run(
            command, environment={"PATH": os.environ["PATH"], "HOME": str(self.root)}, timeout_s=120
        )
        assert done.exit_status == 0, done.output
        lines = done.output.splitlines()
        start = next(
            i for i, line in enumerate(lines) if line.startswith(("Time (%)", "Range,", "NVTX Range,"))
        )
        (self.nsys / name).write_text("\n".join(line for line in lines[start:] if line) + "\n")

    def judged(self):
        factory.write_export(self.nsys)
        for folder in [*(self.case / "torch").iterdir(), self.nsys]:
            record = read_json(folder / "run.json")
            record["files"] = {name: factory.sha256(folder / name) for name in record["files"]}
            factory.write_json(folder / "run.json", record)
        return reconciled(self.captures, self.root / "out")

    def from_another_thread(self):
        """In both books, autograd's thread launches eager's last kernel."""
        kernels = "SELECT correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = mangledName"
        self.sql(
            f"UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET globalTid = {factory.GLOBAL_PID + OTHER} "
            f"WHERE correlationId IN ({kernels} WHERE value = '{ADD}')"
        )

        def move(events):
            for event in events:
                if event["name"] == "aten::add":
                    event["tid"] = OTHER
                    call = event["args"]["External id"]
                    (launch,) = [
                        e
                        for e in events
                        if e.get("cat") == "cuda_runtime" and e["args"]["correlation"] == call
                    ]
                    launch["tid"] = OTHER

        self.trace("eager", move)

    def as_graph(self, variant="eager", node=lambda correlation: correlation):
        """In both books, one cudaGraphLaunch launches all kernels of a call of ``variant``."""
        connection = sqlite3.connect(self.nsys / "report.sqlite")
        (name,) = connection.execute("SELECT max(id) + 1 FROM StringIds").fetchone()
        connection.execute("INSERT INTO StringIds (id, value) VALUES (?, 'cudaGraphLaunch_v10000')", (name,))
        query = "SELECT start, end FROM NVTX_EVENTS WHERE text = ?"
        for begin, end in connection.execute(query, (f"tiny/{variant}",)).fetchall():
            within = "SELECT correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE start BETWEEN ? AND ? ORDER BY start"
            first, *others = [c for (c,) in connection.execute(within, (begin, end))]
            connection.execute(
                "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET nameId = ? WHERE correlationId = ?", (name, first)
            )
            for position, correlation in enumerate([first, *others]):
                connection.execute(
                    "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET correlationId = ?, graphNodeId = ? WHERE correlationId = ?",
                    (first, node(position), correlation),
                )
            for correlation in others:
                connection.execute(
                    "DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId = ?", (correlation,)
                )
        connection.commit()
        connection.close()
        self.trace(variant, one_call)


def one_call(events):
    """All launches of a range become nodes of the graph that its first launching call replays."""
    ranges = [e for e in events if e.get("cat") == "user_annotation"]
    for around in ranges:
        inside = [
            e for e in events
            if e.get("cat") == "cuda_runtime" and around["ts"] <= e["ts"] <= around["ts"] + around["dur"]
        ]  # fmt: skip
        correlations = [e["args"]["correlation"] for e in inside]
        inside[0]["name"] = "cudaGraphLaunch"
        for event in inside[1:]:
            events.remove(event)
        for event in events:
            if event.get("cat") == "kernel" and event["args"]["correlation"] in correlations:
                event["args"]["correlation"] = correlations[0]


def test_a_kernel_that_another_thread_launched_is_matched_and_the_csvs_of_nsys_still_add_up(bench):
    bench.from_another_thread()
    bench.export()
    rows, verdict = bench.judged()
    assert verdict["verdict"] == "verified", [c for c in verdict["checks"] if c["status"] != "pass"]
    row = row_of(rows, "kernel", "eager", "AddFunctor")
    assert (row["torch_count"], row["nsys_count"], row["status"]) == (10, 10, "verified")
    assert row["operator"] == "aten::add"


def test_the_span_of_a_range_holds_what_another_thread_launched(bench):
    before = row_of(bench.judged()[0], "range", "eager", "")["gpu_span_ns"]
    bench.from_another_thread()
    bench.export()
    row = row_of(bench.judged()[0], "range", "eager", "")
    assert row["gpu_span_ns"] == before
    assert "another thread" in row["reason"]


def test_a_csv_that_lacks_the_other_threads_kernels_is_still_refused(bench):
    bench.from_another_thread()
    bench.export()
    path = bench.nsys / CSV
    path.write_text("".join(line for line in path.read_text().splitlines(True) if "AddFunctor" not in line))
    _, verdict = bench.judged()
    assert statuses(verdict)["export"] == "fail"


def test_the_kernels_of_a_graph_are_matched_although_one_call_launched_them_all(bench):
    bench.as_graph()
    rows, verdict = bench.judged()
    assert verdict["verdict"] == "verified", [c for c in verdict["checks"] if c["status"] != "pass"]
    assert row_of(rows, "kernel", "eager", "AddFunctor")["nsys_count"] == 10


def test_the_real_tool_counts_the_kernels_of_a_graph_as_we_do(bench):
    bench.as_graph()
    bench.export()
    _, verdict = bench.judged()
    assert verdict["verdict"] == "verified", [c for c in verdict["checks"] if c["status"] != "pass"]


def test_a_node_that_ran_twice_in_one_replay_fails_conservation(bench):
    bench.as_graph(node=lambda position: 5)
    _, verdict = bench.judged()
    (check,) = [c for c in verdict["checks"] if c["id"] == "conservation"]
    assert check["status"] == "fail" and "more than once in a replay" in check["reason"]


def test_a_graph_that_lost_a_node_in_one_replay_fails_conservation(bench):
    bench.as_graph()

    def lose(events):
        events.remove(next(e for e in events if e.get("cat") == "kernel"))

    bench.trace("eager", lose)
    _, verdict = bench.judged()
    (check,) = [c for c in verdict["checks"] if c["id"] == "conservation"]
    assert check["status"] == "fail" and "its CUDA graph ran" in check["reason"]


def test_a_graph_launch_that_left_no_record_at_all_fails_conservation(bench):
    bench.as_graph()
    bench.sql(
        "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE correlationId = "
        "(SELECT min(correlationId) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE graphNodeId IS NOT NULL)"
    )
    _, verdict = bench.judged()
    (check,) = [c for c in verdict["checks"] if c["id"] == "conservation"]
    assert check["status"] == "fail" and "1 kernel launches left no kernel record" in check["reason"]


def overlap(bench):
    """Eager's second kernel starts before its first has ended."""
    bench.sql(
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = start - 50000, end = end - 50000 "
        f"WHERE mangledName = (SELECT id FROM StringIds WHERE value = '{factory.MUL}')"
    )


def test_branches_of_one_graph_may_overlap_on_their_stream(bench):
    bench.as_graph()
    overlap(bench)
    assert statuses(bench.judged()[1])["structure"] == "pass"


def test_kernels_of_separate_launches_may_not(bench):
    overlap(bench)
    assert statuses(bench.judged()[1])["structure"] == "fail"
