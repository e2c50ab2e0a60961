"""Faults of torch.profiler: collisions, lost and impossible records, rows that repeat a time, files that are no trace."""

from __future__ import annotations

import copy
import gzip

import capture_factory as factory

from . import real_torch
from .bench import Bench, events, without
from .fault import NOT_QUOTED, Fault, declare

FAULTS: list[Fault] = []
fault = declare(FAULTS)
TRACE = "torch/eager/trace.json.gz"
GPU = ("kernel", "gpu_memcpy", "gpu_memset")
UNKNOWN = ("kernel", "eager", "Mul", "unknown")
DISAGREE = ("kernel", "eager", "Mul", "disagree")


def probe(bench: Bench, result: int, injection: tuple[str, ...] = ()) -> None:
    with bench.json("torch/eager/run.json") as record:
        record["probe"] |= {"result": result, "injection": list(injection)}


def muls(trace: dict) -> list[dict]:
    return [e for e in events(trace, "kernel") if "Mul" in e["name"]]


def silent(bench: Bench) -> None:
    """The trace as CUPTI's refusal leaves it: operators and ranges, nothing of CUDA."""
    with bench.trace("eager") as trace:
        without(trace, events(trace, *GPU, "cuda_runtime"))


@fault(
    "second-subscriber", "torch.profiler runs under nsys, or beside any other CUPTI subscriber",
    "A warning on stderr, a trace without kernels, exit status 0 and a normal-looking table"
    " (torch 2.11 under nsys 2025.3.1; Kineto before had a partial trace).",
    "subscriber", "fail", "torch/eager: another CUPTI subscriber was there (cuptiSubscribe gave 39)",
    "run snakemake outside nsys", row=UNKNOWN, also="conservation identity agreement",
)  # fmt: skip
def second_subscriber(bench: Bench) -> None:
    """The probe of torch/eager recorded 39, and its trace has no event of CUDA."""
    probe(bench, 39)
    silent(bench)


@fault(
    "injection-variables", "A profiler's injection variables are set in a clean pass",
    "nsys leaves CUDA_INJECTION64_PATH and LD_PRELOAD in every child; its subscription may come later than the probe.",
    "subscriber", "fail", "injection variables of a profiler were set: CUDA_INJECTION64_PATH", row=NOT_QUOTED,
)  # fmt: skip
def injection_variables(bench: Bench) -> None:
    """The probe of torch/eager recorded 0, and one injection variable."""
    probe(bench, 0, ("CUDA_INJECTION64_PATH",))


@fault(
    "no-privileges", "CUPTI may not be used by this user",
    "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35) where the driver restricts profiling to administrators:"
    " a warning, and a trace without kernels.",
    "subscriber", "unknown", "want of privileges", "NVreg_RestrictProfilingToAdminUsers=0", row=UNKNOWN,
    also="conservation identity agreement",
)  # fmt: skip
def no_privileges(bench: Bench) -> None:
    """The probe of torch/eager recorded 35, and its trace has no event of CUDA."""
    probe(bench, 35)
    silent(bench)


@fault(
    "not-probed", "CUPTI could not be asked who else is there",
    "A torch build without libcupti beside it.",
    "subscriber", "unknown", "torch/eager: CUPTI was not probed (libcupti was not found)",
)  # fmt: skip
def not_probed(bench: Bench) -> None:
    """The probe of torch/eager has no result, and the reason."""
    with bench.json("torch/eager/run.json") as record:
        record["probe"] |= {"result": None, "reason": "libcupti was not found"}


@fault(
    "no-kernel-event", "The trace has no event of CUDA at all, and nothing says why",
    "A CPU build of Kineto, or CUPTI failing to start: zero kernels were recorded, which is not zero launches.",
    "conservation", "unknown", "the torch trace has no GPU operation at all", row=UNKNOWN, also="identity agreement",
)  # fmt: skip
def no_kernel_event(bench: Bench) -> None:
    """The trace of eager keeps its operators and ranges, and loses every event of CUDA; the probe was clean."""
    silent(bench)


@fault(
    "launch-records-only", "Launching calls are recorded, their kernels are not",
    "GPU buffers are dropped or flushed too late: the CPU side of the trace looks complete.",
    "conservation", "fail", "torch/eager: 30 kernel launches left no kernel record", row=UNKNOWN,
    also="identity agreement",
)  # fmt: skip
def launch_records_only(bench: Bench) -> None:
    """The trace of eager loses its kernels and keeps the cudaLaunchKernel events."""
    with bench.trace("eager") as trace:
        without(trace, events(trace, *GPU))


@fault(
    "first-kernels-missing", "The first kernels of a session are missing",
    "CUPTI starts later than the session: without a warm-up, the first calls have no kernels.",
    "conservation", "fail", "torch counted 8, nsys counted 10", row=DISAGREE,
)  # fmt: skip
def first_kernels_missing(bench: Bench) -> None:
    """The first two launches of eager's mul are not in the trace, neither call nor kernel."""
    drop_muls(bench, slice(0, 2))


@fault(
    "last-kernels-missing", "The last kernels of a session are missing",
    "The session is closed before its kernels have ended.",
    "conservation", "fail", "torch counted 7, nsys counted 10", row=DISAGREE,
)  # fmt: skip
def last_kernels_missing(bench: Bench) -> None:
    """The last three launches of eager's mul are not in the trace."""
    drop_muls(bench, slice(7, 10))


def drop_muls(bench: Bench, which: slice) -> None:
    with bench.trace("eager") as trace:
        gone = muls(trace)[which]
        ids = {e["args"]["correlation"] for e in gone}
        calls = [e for e in events(trace, "cuda_runtime") if e["args"]["correlation"] in ids]
        without(trace, [*gone, *calls])


@fault(
    "launch-without-kernel", "One launching call has no kernel",
    "A dropped activity record in the middle of a session.",
    "conservation", "fail", "torch/eager: 1 kernel launches left no kernel record", row=DISAGREE,
)  # fmt: skip
def launch_without_kernel(bench: Bench) -> None:
    """One kernel event of eager's mul is taken out, its cudaLaunchKernel stays."""
    with bench.trace("eager") as trace:
        without(trace, muls(trace)[4:5])


@fault(
    "kernel-without-launch", "One kernel has no launching call",
    "The runtime record was dropped: the kernel belongs to no operator and no range.",
    "structure", "fail", "1 GPU operations have no launching call", row=("kernel", "eager", "Mul", "disagree"),
    also="conservation identity agreement",
)  # fmt: skip
def kernel_without_launch(bench: Bench) -> None:
    """The cudaLaunchKernel event of one of eager's mul kernels is taken out."""
    with bench.trace("eager") as trace:
        wanted = muls(trace)[4]["args"]["correlation"]
        without(trace, [e for e in events(trace, "cuda_runtime") if e["args"]["correlation"] == wanted])


@fault(
    "kernel-before-launch", "A kernel starts one nanosecond before the call that launched it",
    "The clocks of GPU and CPU are joined wrongly (CUPTI's timestamp conversion drifts).",
    "structure", "fail", "starts 1 ns before the call that launched it", "snakemake again", row=NOT_QUOTED,
)  # fmt: skip
def kernel_before_launch(bench: Bench) -> None:
    """The launching call of one kernel is moved to 1 ns behind the kernel's start; at the start is healthy."""
    with bench.trace("eager") as trace:
        kernel = events(trace, "kernel")[0]
        (call,) = [
            e
            for e in events(trace, "cuda_runtime")
            if e["args"]["correlation"] == kernel["args"]["correlation"]
        ]
        call["ts"] = (round(kernel["ts"] * 1000) + 1) / 1000


@fault(
    "ts-0", "A kernel starts at 0",
    "Kineto writes ts 0 for a record whose time CUPTI did not fill in.",
    "structure", "fail", "starts at 0, which no clock says", row=NOT_QUOTED,
)  # fmt: skip
def ts_zero(bench: Bench) -> None:
    """The first kernel of eager has ts 0."""
    with bench.trace("eager") as trace:
        events(trace, "kernel")[0]["ts"] = 0


@fault(
    "no-duration", "A kernel took no time",
    "Negative durations are clamped to 0 by the tool or by a script.",
    "structure", "fail", "took no time", row=DISAGREE, also="agreement",
)  # fmt: skip
def no_duration(bench: Bench) -> None:
    """One kernel of eager's mul has dur 0."""
    with bench.trace("eager") as trace:
        muls(trace)[2]["dur"] = 0


@fault(
    "negative-duration", "A kernel ends before it starts",
    "End and start come from two clocks, or from two buffers.",
    "structure", "fail", "ends 120000 ns before it starts", row=DISAGREE, also="agreement",
)  # fmt: skip
def negative_duration(bench: Bench) -> None:
    """One kernel of eager's mul has a negative dur."""
    with bench.trace("eager") as trace:
        muls(trace)[2]["dur"] = -120


@fault(
    "overlap-1-ns", "Two kernels of one stream overlap by one nanosecond",
    "Starts and ends are rounded outwards, or two sessions are merged.",
    "structure", "fail", "overlap by 1 ns on stream 7", row=NOT_QUOTED,
)  # fmt: skip
def overlap(bench: Bench) -> None:
    """One kernel of eager lasts to 1 ns behind the start of the next; touching is healthy."""
    with bench.trace("eager") as trace:
        first, second = events(trace, "kernel")[:2]
        first["dur"] = (round(second["ts"] * 1000) - round(first["ts"] * 1000) + 1) / 1000


@fault(
    "fraction-of-a-nanosecond", "A time is no whole number of nanoseconds",
    "A trace that went through a float: 17 digits are too few for microseconds since 1970 with three decimals.",
    "structure", "fail", "not a whole number of nanoseconds", row=UNKNOWN, also="conservation identity agreement",
)  # fmt: skip
def fraction(bench: Bench) -> None:
    """One kernel of eager has a ts with four decimals."""
    with bench.trace("eager") as trace:
        events(trace, "kernel")[0]["ts"] = 1000000.0001


@fault(
    "two-calls-one-correlation", "Two launching calls share a correlation id",
    "Two sessions, or two processes, in one trace.",
    "structure", "fail", "2 launching calls share correlation", row=NOT_QUOTED,
)  # fmt: skip
def two_calls(bench: Bench) -> None:
    """A cudaLaunchKernel event of eager stands twice."""
    with bench.trace("eager") as trace:
        trace["traceEvents"].append(copy.deepcopy(events(trace, "cuda_runtime")[0]))


@fault(
    "no-correlation", "A kernel has no correlation id",
    "Kineto's output for graph launches and some plug-ins.",
    "structure", "fail", "has no correlation id", row=UNKNOWN, also="conservation identity agreement",
)  # fmt: skip
def no_correlation(bench: Bench) -> None:
    """One kernel event of eager lacks the argument correlation."""
    with bench.trace("eager") as trace:
        del events(trace, "kernel")[0]["args"]["correlation"]


@fault(
    "range-lost", "The trace lacks the announced range",
    "record_function is compiled away, or the cycle of a schedule cleared its first events.",
    "conservation", "fail", "torch counted 0, nsys counted 10", row=UNKNOWN, also="identity agreement",
)  # fmt: skip
def range_lost(bench: Bench) -> None:
    """The user_annotation events of eager are taken out."""
    with bench.trace("eager") as trace:
        without(trace, events(trace, "user_annotation"))


def logged(id: str, title: str, field: str, line: str) -> None:
    """Declare a fault that only the log of the torch pass tells of."""
    check = fault(id, title, field, "conservation", "fail", line, "lower `iterations`")

    def inject(bench: Bench) -> None:
        bench.write("torch/eager/log.txt", f"W0101 kineto:12] {line}\n".encode())

    inject.__doc__ = f"The log of torch/eager holds `{line}`; the counts are right."
    check(inject)


logged("records-out-of-range", "Kineto dropped records that lie outside its session",
       "Kineto's record counts at the end of a session, shown with KINETO_LOG_LEVEL=0; the rest looks complete.",
       "Record counts: Out-of-range = 3, Blocklisted runtime = 0")  # fmt: skip
logged("records-dropped", "CUPTI dropped activity records",
       "cuptiActivityGetNumDroppedRecords is not 0: buffers were not delivered in time.",
       "Dropped 12 activity records")  # fmt: skip
logged("buffer-limit", "Kineto's GPU buffers ran full and it stopped collecting",
       "More than 128 MiB of records in one session; the trace simply ends there, exit status 0.",
       "Exceeded max GPU buffer count (33 >= 33) - terminating tracing")  # fmt: skip


@fault(
    "dropped-in-the-trace", "The trace itself says that records were dropped",
    "Kineto writes its own warnings beside the events, where no viewer shows them.",
    "conservation", "fail", "torch/eager: ['Dropped 4 activity records']",
)  # fmt: skip
def dropped_in_the_trace(bench: Bench) -> None:
    """The trace of eager has a top-level key WARNING with that line."""
    with bench.trace("eager") as trace:
        trace["WARNING"] = ["Dropped 4 activity records"]


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
