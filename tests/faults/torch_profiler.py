"""Faults of a session of torch.profiler: collisions, missing privileges, lost kernels and lost ranges."""

from __future__ import annotations

from .bench import Bench, events, without
from .fault import DISAGREE, NOT_QUOTED, UNKNOWN, Fault, declare

FAULTS: list[Fault] = []
fault = declare(FAULTS)
GPU = ("kernel", "gpu_memcpy", "gpu_memset")


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
