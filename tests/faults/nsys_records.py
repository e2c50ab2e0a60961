"""Reports of nsys with less in them than there was, or with something that cannot be true."""

from __future__ import annotations

import json

import nsys_tool

from .bench import Bench
from .fault import DISAGREE, NOT_QUOTED, UNKNOWN, Fault, declare

FAULTS: list[Fault] = []
fault = declare(FAULTS)


@fault(
    "partial-recording", "A few kernels of hundreds are recorded",
    "nsys 2023.4.4 on driver 580 recorded 2 of 939 kernels, and exited with 0.",
    "conservation", "fail", "torch counted 10, nsys counted 2", "measure the named pass again", row=DISAGREE,
    also="identity agreement",
)  # fmt: skip
def partial_recording(bench: Bench) -> None:
    """nsys keeps the kernels and launching calls of the first two calls of eager; all ranges are there."""
    bench.tamper("nsys", lambda calls: [c if c[0] == "eager" and c[1] < 2 else (*c[:4], []) for c in calls])


@fault(
    "nothing-recorded", "The report has ranges and no kernel",
    "nsys older than the driver, or --trace without cuda: zero kernels were recorded, which is not zero launches.",
    "conservation", "unknown", "nsys recorded no GPU operation at all", row=UNKNOWN, also="identity agreement",
)  # fmt: skip
def nothing_recorded(bench: Bench) -> None:
    """nsys has no kernel, copy or call of any variant; the CSVs have no rows for them either."""
    bench.tamper("nsys", lambda calls: [(*c[:4], []) for c in calls])


def diagnosed(id: str, title: str, field: str, text: str) -> None:
    """Declare a fault of which only nsys's own diagnostics tell."""
    check = fault(id, title, field, "conservation", "fail", text)

    def inject(bench: Bench) -> None:
        with bench.json("nsys/export.json") as value:
            value["diagnostics"] = [{"severity": "Error", "source": "Analysis", "text": text}]

    inject.__doc__ = f"The diagnostics of the export hold `{text}`; all counts are right."
    check(inject)


diagnosed("raw-events-errors", "nsys had errors while it processed the raw events",
          "A version older than the driver: the report opens, with a part of its events.",
          "Errors occurred while processing the raw events.")  # fmt: skip
diagnosed("events-dropped", "nsys dropped events",
          "Its buffers ran full.", "1204 CUDA events were dropped")  # fmt: skip


@fault(
    "dropped-in-the-log", "nsys says on its output that events were lost",
    "The line scrolls away; exit status 0.",
    "conservation", "fail", "nsys/log.txt: WARNING: Sampling events were lost",
)  # fmt: skip
def dropped_in_the_log(bench: Bench) -> None:
    """The log of the nsys pass holds such a line."""
    bench.write("nsys/log.txt", b"WARNING: Sampling events were lost in the interval 1 - 2 (1) ns.\n")


@fault(
    "ranges-lost", "All ranges of a domain are missing",
    "nvtx 0.2.12 and later under nsys 2023.4.4: not one range of a named domain is recorded, kernels are.",
    "conservation", "fail", "nsys recorded none of the announced ranges", "nvtx 0.2.11", row=UNKNOWN,
    also="identity agreement export",
)  # fmt: skip
def ranges_lost(bench: Bench) -> None:
    """report.sqlite has no NVTX event; the real nsys stats then skips nvtx_sum."""
    bench.sql("DROP TABLE NVTX_EVENTS")
    bench.stats("nvtx_sum.csv", nsys_tool.real_nsys())


@fault(
    "one-range-lost", "One instance of a range is missing",
    "The range was open when the capture ended, or began before it.",
    "conservation", "fail", "torch counted 10, nsys counted 9", row=DISAGREE, also="identity agreement export",
)  # fmt: skip
def one_range_lost(bench: Bench) -> None:
    """The first range of eager is not in report.sqlite: its kernels lie outside every range."""
    bench.sql(
        "DELETE FROM NVTX_EVENTS WHERE start = (SELECT min(start) FROM NVTX_EVENTS WHERE eventType = 59)"
    )


@fault(
    "range-never-closed", "A range has no end",
    "The capture stopped inside it.",
    "structure", "fail", "range tiny/eager was never closed", row=("range", "eager", "eager", "disagree"),
    also="conservation identity agreement export",
)  # fmt: skip
def range_never_closed(bench: Bench) -> None:
    """The first range of eager has no end in report.sqlite."""
    first = "(SELECT min(start) FROM NVTX_EVENTS WHERE eventType = 59)"
    bench.sql(f"UPDATE NVTX_EVENTS SET end = NULL WHERE start = {first}")


@fault(
    "range-twice", "Every range stands twice",
    "emit_nvtx and our own ranges of one name, or a push without the matching pop.",
    "conservation", "fail", "torch counted 10, nsys counted 20", row=("range", "eager", "eager", "disagree"),
    also="export",
)  # fmt: skip
def range_twice(bench: Bench) -> None:
    """Every range of eager stands twice in report.sqlite."""
    bench.sql("INSERT INTO NVTX_EVENTS SELECT * FROM NVTX_EVENTS WHERE text = 'tiny/eager'")


@fault(
    "graph-as-one-block", "A CUDA graph is recorded as one block",
    "Without --cuda-graph-trace=node the kernels of a graph are one row of another table.",
    "conservation", "fail", "10 CUDA graphs were recorded as one block each", "--cuda-graph-trace=node",
    row=UNKNOWN, also="identity agreement",
)  # fmt: skip
def graph_as_one_block(bench: Bench) -> None:
    """nsys has no kernel of eager, and one graph in the place of each call."""
    bench.tamper("nsys", lambda calls: [(*c[:4], []) if c[0] == "eager" else c for c in calls])
    bench.sql("CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, graphId INTEGER)",
              "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
              " SELECT start, end, 1 FROM NVTX_EVENTS WHERE text = 'tiny/eager'")  # fmt: skip


@fault(
    "two-processes", "The report holds kernels of two processes",
    "nsys follows child processes, torch.profiler does not: a worker's kernels are in one book.",
    "conservation", "fail", "GPU operations of 2 processes are in the report", row=DISAGREE,
    also="structure identity agreement export",
)  # fmt: skip
def two_processes(bench: Bench) -> None:
    """The first kernel of eager's mul in report.sqlite is of another process."""
    mul = "(SELECT id FROM StringIds WHERE value LIKE '%MulFunctor%' AND value LIKE '\\_Z%' ESCAPE '\\')"
    first = f"(SELECT min(start) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE mangledName = {mul})"
    bench.sql(
        f"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid = globalPid + (1 << 24) WHERE start = {first}"
    )


@fault(
    "children-not-traced", "Kernels of a child process are in neither book",
    "--trace-fork-before-exec is off, and torch.profiler sees one process: the program knows better.",
    "conservation", "fail", "block eager: the program announced 40, torch counted 30, nsys counted 30",
    row=("block", "eager", "eager", "disagree"),
)  # fmt: skip
def children_not_traced(bench: Bench) -> None:
    """The plan announces four launches a call of eager; both books have three."""
    path = bench.captures / "plan.json"
    plan = json.loads(path.read_text())
    plan["cases"][0]["launches"]["eager"] = 4
    path.write_text(json.dumps(plan))


@fault(
    "nsys-not-subscribed", "nsys was not subscribed to CUPTI in its own pass",
    "Another subscriber was first, or nsys was started without -t cuda: its kernel table is another's, or empty.",
    "subscriber", "fail", "nsys: nsys had not subscribed to CUPTI", row=NOT_QUOTED,
)  # fmt: skip
def nsys_not_subscribed(bench: Bench) -> None:
    """The probe of the nsys pass recorded 0 where 39 is expected."""
    with bench.json("nsys/run.json") as record:
        record["probe"]["result"] = 0


@fault(
    "kernel-before-launch-nsys", "A kernel in nsys starts before the call that launched it",
    "A wrong conversion between GPU and CPU clocks, as by a version older than the driver.",
    "structure", "fail", "nsys/report.sqlite: ", "starts 1 ns before the call", row=NOT_QUOTED,
)  # fmt: skip
def kernel_before_launch(bench: Bench) -> None:
    """The first launching call in report.sqlite is moved to 1 ns behind its kernel's start."""
    first = "(SELECT min(correlationId) FROM CUPTI_ACTIVITY_KIND_KERNEL)"
    start = f"(SELECT start + 1 FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE correlationId = {first})"
    bench.sql(f"UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = {start} WHERE correlationId = {first}")


@fault(
    "no-launch-record-nsys", "A kernel in nsys has no launching call",
    "Runtime records are dropped before GPU records.",
    "structure", "fail", "1 GPU operations have no launching call", row=DISAGREE,
    also="conservation identity agreement export",
)  # fmt: skip
def no_launch_record(bench: Bench) -> None:
    """The launching call of one of eager's mul kernels is not in report.sqlite."""
    second = "(SELECT correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start LIMIT 1 OFFSET 1)"
    bench.sql(f"DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId = {second}")
