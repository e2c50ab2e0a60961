"""Kineto traces that repeat a time, or that are no trace."""

from __future__ import annotations

import gzip

import capture_factory as factory

from . import real_torch
from .bench import Bench, events
from .fault import UNKNOWN, Fault, declare

FAULTS: list[Fault] = []
fault = declare(FAULTS)
TRACE = "torch/eager/trace.json.gz"


def repeated(id: str, title: str, field: str, category: str, name: str) -> None:
    """Declare rows that repeat the first kernel's time under another category: they must not be counted."""
    check = fault(id, title, field, "none", "harmless")

    def inject(bench: Bench) -> None:
        with bench.trace("eager") as trace:
            for kernel in events(trace, "kernel")[::3]:
                twin = {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": factory.STREAM, "args": {}}
                trace["traceEvents"].append(twin | {"ts": kernel["ts"], "dur": kernel["dur"]})

    inject.__doc__ = (
        f"The trace of eager gets rows `{name}` (category {category}) with the first kernel's time."
    )
    check(inject)


repeated("gpu-user-annotation", "The range stands on the GPU's time line too, with the kernels' time",
         "A table that sums by name counts the kernel and the range around it.", "gpu_user_annotation", "tiny/eager")  # fmt: skip
repeated("compiled-region", "A compiled region repeats its kernel's time",
         "With torch.compile one kernel's time stands in three rows (op, kernel, region).",
         "cpu_op", "## Call CompiledFxGraph fabc ##")  # fmt: skip
repeated("buffer-request", "Activity Buffer Request carries a kernel's time",
         "key_averages() showed exactly the first GEMM's 2.758 ms as its own CUDA time (torch 2.11).",
         "overhead", "Activity Buffer Request")  # fmt: skip


@fault(
    "foreign-external-id", "An External id equals the correlation id of a foreign launch",
    "Both count from small numbers: a parser that joins on whichever matches gives kernels to wrong operators.",
    "none", "harmless",
)  # fmt: skip
def foreign_external_id(bench: Bench) -> None:
    """Every operator of eager gets the correlation id of the launch behind its own as External id."""
    with bench.trace("eager") as trace:
        for event in events(trace, "cpu_op", "kernel"):
            event["args"]["External id"] = (
                event["args"].get("External id", event["args"].get("correlation")) + 1
            )


def no_trace(id: str, title: str, field: str, says: str, how: str, damage) -> None:
    """Declare a trace that cannot be read; ``damage`` makes it from the JSON text of a good one."""
    check = fault(id, title, field, "structure", "fail", says, "snakemake again", row=UNKNOWN,
                  also="conservation identity agreement")  # fmt: skip

    def inject(bench: Bench) -> None:
        bench.write(TRACE, damage(gzip.decompress((bench.case / TRACE).read_bytes())))

    inject.__doc__ = how
    check(inject)


no_trace("invalid-json", "The trace is invalid JSON", "A name with a quote or a backslash that the writer did not escape.",
         "not a Kineto trace", "An unescaped quote is put into the first kernel's name.",
         lambda text: gzip.compress(text.replace(b'"kernel", "name": "', b'"kernel", "name": "a"b', 1)))  # fmt: skip
no_trace("truncated-gzip", "The trace is a truncated gzip file", "A full disk, or a killed process.",
         "truncated or not gzip", "The last half of the file is cut off.",
         lambda text: gzip.compress(text)[: len(gzip.compress(text)) // 2])  # fmt: skip
no_trace("truncated-json", "The trace ends in the middle of an event", "The same, where the trace is not compressed.",
         "not a Kineto trace", "The file is plain JSON, cut off in the middle.", lambda text: text[: len(text) // 2])  # fmt: skip
no_trace("infinity", "A time is Infinity", "A division by zero in the writer; Python's own JSON reader takes it.",
         "not a Kineto trace", "A dur of eager's trace is Infinity.",
         lambda text: gzip.compress(text.replace(b'"dur": 120.0', b'"dur": Infinity', 1)))  # fmt: skip
no_trace("nan", "A time is NaN", "The same, and every comparison with it is false.",
         "not a Kineto trace", "A dur of eager's trace is NaN.",
         lambda text: gzip.compress(text.replace(b'"dur": 120.0', b'"dur": NaN', 1)))  # fmt: skip


@fault(
    "trace-missing", "There is no trace", "The profiler failed to write it, and the process went on.",
    "structure", "fail", "there is no trace", row=UNKNOWN, also="conservation identity agreement freshness",
)  # fmt: skip
def trace_missing(bench: Bench) -> None:
    """The trace of eager is removed."""
    (bench.case / TRACE).unlink()


@fault(
    "cycle-cleared", "torch keeps only the last cycle of a schedule",
    "\"Profiler clears events at the end of each cycle\": with a schedule each export overwrites the one before,"
    " and the last cycle is empty (torch 2.13).",
    "conservation", "fail", "torch counted 0, nsys counted 10", row=("range", "eager", "eager", "disagree"),
    also="identity agreement",
)  # fmt: skip
def cycle_cleared(bench: Bench) -> None:
    """Real torch on the CPU records ten calls in cycles of one; its trace takes the place of eager's."""
    bench.write(TRACE, real_torch.trace(bench.root, "tiny/eager", cycles=True).read_bytes())


@fault(
    "hostile-range-name", "A range's name holds a quote",
    "torch writes the names of ranges unescaped into its JSON (2.13 still does): no reader can open the trace.",
    "structure", "fail", "not a Kineto trace", row=UNKNOWN, also="conservation identity agreement",
)  # fmt: skip
def hostile_range_name(bench: Bench) -> None:
    """Real torch on the CPU records a range named `a"b`; its trace takes the place of eager's."""
    bench.write(TRACE, real_torch.trace(bench.root, 'a"b').read_bytes())


@fault(
    "cpu-trace-for-a-gpu-pass", "The trace of a GPU pass was made without CUDA",
    "torch falls back to the CPU silently where CUDA_VISIBLE_DEVICES is empty: all ranges, no kernel.",
    "conservation", "unknown", "the torch trace has no GPU operation at all", row=UNKNOWN, also="identity agreement",
)  # fmt: skip
def cpu_trace(bench: Bench) -> None:
    """Real torch on the CPU records ten calls in the announced range; its trace takes the place of eager's."""
    bench.write(TRACE, real_torch.trace(bench.root, "tiny/eager").read_bytes())
