"""Faults of the passes themselves: what they ran on, what they computed, and what happened to their files."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

from .bench import Bench
from .fault import NOT_QUOTED, Fault, declare

FAULTS: list[Fault] = []
fault = declare(FAULTS)
RECORD = "torch/eager/run.json"


def differs(id: str, key: str, field: str, value: object, *, inner: str | None = None, **more) -> None:
    """Declare a fault in which one key of a pass's record differs from the other passes'."""
    title = f"One pass has another {inner or key}"
    check = fault(id, title, field, "sameness", "fail", "differs: ", "in one go", row=NOT_QUOTED, **more)

    def inject(bench: Bench) -> None:
        with bench.json(RECORD) as record:
            (record[key] if inner else record)[inner or key] = value

    inject.__doc__ = f"The record of torch/eager says {inner or key} {json.dumps(value)}."
    check(inject)


differs(
    "other-gpu",
    "gpu",
    "A node with several GPUs, and CUDA_VISIBLE_DEVICES differs between passes.",
    "GPU-2",
    inner="uuid",
)
differs(
    "other-driver", "versions", "The driver is updated between two passes of one run.", "590", inner="driver"
)
differs(
    "other-torch",
    "versions",
    "Another environment is active when a pass is repeated.",
    "2.12.0",
    inner="torch",
)
differs("other-seed", "seed", "A pass is repeated after the seed was changed: other inputs.", 2)
differs(
    "other-shape", "parameters", "A pass is repeated with another shape, under the same case.", {"n": 2048}
)
differs("other-source", "workload_sha256", "The workload file is edited between two passes.", "ef" * 32)
differs(
    "other-library",
    "library_sha256",
    "The kernels are built again, by another compiler, between two passes.",
    "01" * 32,
)
differs(
    "other-iterations",
    "iterations",
    "A pass is repeated with other iterations; its counts are right, for itself.",
    20,
)


@fault(
    "other-plan", "All passes agree with each other, and not with the plan",
    "A run folder is copied and its plan edited.",
    "sameness", "fail", "seed differs: plan has 3", row=NOT_QUOTED,
)  # fmt: skip
def other_plan(bench: Bench) -> None:
    """plan.json says seed 3; every pass recorded 1."""
    path = bench.captures / "plan.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "seed": 3}))


def numeric(bench: Bench, **fields: object) -> None:
    with bench.json("numerics.json") as value:
        value["variants"]["fused"].update(fields)


@fault(
    "wrong-values", "A faster variant computes something else",
    "A missing bias, a fast-math flag or a race: the time is right, the result is not.",
    "numerics", "fail", "fused disagrees with eager: at index [3, 17] it has 0.25, expected 0.5", "mend the variant",
    row=("kernel", "fused", "fused_chain", "unknown"),
)  # fmt: skip
def wrong_values(bench: Bench) -> None:
    """numerics.json names the first element of fused that is out of tolerance, with both values."""
    numeric(bench, agrees=False, first_disagreement={"index": [3, 17], "value": 0.25, "expected": 0.5})


@fault(
    "nan-output", "A variant's output has NaN",
    "NaN compares false with everything, so a comparison written as `difference > limit` lets it pass.",
    "numerics", "fail", "3 of its elements are NaN",
)  # fmt: skip
def nan_output(bench: Bench) -> None:
    """numerics.json counts three NaN in fused, and claims that it agrees."""
    numeric(bench, nan_count=3)


@fault(
    "other-output-shape", "A variant returns another shape",
    "Broadcasting makes [n] and [1, n] compare equal element by element.",
    "numerics", "fail", "its shape is [1, 1024], expected [1024]",
)  # fmt: skip
def other_output_shape(bench: Bench) -> None:
    """numerics.json has fused's shape as [1, 1024]."""
    numeric(bench, shape=[1, 1024])


@fault(
    "other-dtype", "A variant returns another dtype",
    "Half the bytes make half the time: a variant in float16 beside a float32 one.",
    "numerics", "fail", "its dtype is float16, expected float32",
)  # fmt: skip
def other_dtype(bench: Bench) -> None:
    """numerics.json has fused's dtype as float16."""
    numeric(bench, dtype="float16")


@fault(
    "other-bytes", "A variant's output is not the same in all passes",
    "The variant that was checked is not the one that was timed: another algorithm, a race, or atomics.",
    "numerics", "fail", "fused gave different bytes", "atomics",
)  # fmt: skip
def other_bytes(bench: Bench) -> None:
    """The torch pass of fused recorded another hash of its output."""
    with bench.json("torch/fused/run.json") as record:
        record["output_sha256"]["fused"] = "ee" * 32


@fault(
    "other-bytes-of-a-copy", "A reference's output is not the same in all passes",
    "The yardstick copied other data, or not all of it.",
    "numerics", "fail", "copy gave different bytes",
)  # fmt: skip
def other_bytes_of_a_copy(bench: Bench) -> None:
    """The nsys pass recorded another hash of the output of copy."""
    with bench.json("nsys/run.json") as record:
        record["output_sha256"]["copy"] = "ee" * 32


@fault(
    "tf32-on", "TF32 is on in one pass",
    "A workload or an environment variable switches it on: float32 products of ten bits, several times faster.",
    "numerics", "fail", "TF32 was on in timing",
)  # fmt: skip
def tf32_on(bench: Bench) -> None:
    """The timing pass recorded torch.backends.cuda.matmul.allow_tf32 as true."""
    with bench.json("run.json") as record:
        record["tf32"] = {"matmul_allow_tf32": True, "float32_matmul_precision": "high"}


@fault(
    "looser-tolerance", "The numerics were checked with another tolerance than the plan's",
    "numerics.json of an earlier, more lenient run is kept.",
    "numerics", "fail", "other tolerances than the plan's",
)  # fmt: skip
def looser_tolerance(bench: Bench) -> None:
    """numerics.json was made with rtol 1e-2."""
    with bench.json("numerics.json") as value:
        value["rtol"] = 1e-2


@fault(
    "variant-not-compared", "A variant was timed and never compared",
    "It is added to the workload after the numerics pass.",
    "numerics", "unknown", "fused was not compared",
)  # fmt: skip
def variant_not_compared(bench: Bench) -> None:
    """numerics.json has no entry for fused."""
    with bench.json("numerics.json") as value:
        del value["variants"]["fused"]


@fault(
    "numerics-missing", "There is no result of the numerics pass",
    "It failed, or its file was removed.",
    "numerics", "unknown", "numerics.json: ", "missing", also="freshness",
)  # fmt: skip
def numerics_missing(bench: Bench) -> None:
    """numerics.json is removed."""
    (bench.case / "numerics.json").unlink()


@fault(
    "throttled", "The GPU was throttled during a pass",
    "Heat or the power cap lowers the clock for seconds; the median moves by some percent.",
    "clocks", "fail", "torch/eager: the GPU was throttled", "cool", row=NOT_QUOTED,
)  # fmt: skip
def throttled(bench: Bench) -> None:
    """One NVML sample during torch/eager has the reason hw_thermal_slowdown."""
    from kernel_ledger.nvml import HARMFUL

    with bench.json(RECORD) as record:
        record["nvml"]["samples"] = [{**record["nvml"]["before"], "throttle_reasons": [sorted(HARMFUL)[0]]}]


@fault(
    "company", "Another process computed on the GPU",
    "A shared node: somebody's training takes half of the memory bandwidth.",
    "clocks", "fail", "other processes computed on the GPU: train.py (pid 99)", "alone", row=NOT_QUOTED,
)  # fmt: skip
def company(bench: Bench) -> None:
    """NVML lists a second compute process after the nsys pass."""
    with bench.json("nsys/run.json") as record:
        record["nvml"]["after"]["processes"] = [{"pid": 99, "name": "train.py"}]


@fault(
    "clocks-not-sampled", "NVML could not be asked",
    "A container without libnvidia-ml, or a driver that was just updated (\"version mismatch\").",
    "clocks", "unknown", "timing: NVML was not sampled (libnvidia-ml.so.1 is missing)",
)  # fmt: skip
def clocks_not_sampled(bench: Bench) -> None:
    """The timing pass has no NVML samples, and the reason."""
    with bench.json("run.json") as record:
        record["nvml"], record["nvml_reason"] = None, "libnvidia-ml.so.1 is missing"


def changed_after(id: str, name: str, field: str, also: str = "") -> None:
    """Declare a fault in which a file of the capture is appended to after its pass."""
    says = (f"{name} was changed after its pass", "restore the file")
    check = fault(
        id, f"{name} is changed after its pass", field, "freshness", "fail", *says, row=NOT_QUOTED, also=also
    )

    def inject(bench: Bench) -> None:
        path = bench.case / name
        content = path.read_bytes()
        packed = name.endswith(".gz")
        path.write_bytes(gzip.compress(gzip.decompress(content), 1) if packed else content + b"\n")

    inject.__doc__ = "It is packed again, or a newline is appended to it; the record keeps the old hash."
    check(inject)


changed_after("trace-changed", "torch/copy/trace.json.gz", "Somebody opens and saves it.")
changed_after("csv-changed", "nsys/cuda_gpu_kern_sum.csv", "Somebody rounds the numbers in a spreadsheet.")
changed_after("report-changed", "nsys/report.nsys-rep", "The report of another run is copied over it.")
changed_after("table-for-people-changed", "torch/eager/key_averages.txt", "It is edited before it is quoted.")


@fault(
    "file-lost", "A file that a pass recorded is gone",
    "A clean-up script, a quota, an incomplete copy of the run.",
    "freshness", "fail", "torch/eager/key_averages.csv is missing", row=NOT_QUOTED,
)  # fmt: skip
def file_lost(bench: Bench) -> None:
    """key_averages.csv of torch/eager is removed."""
    (bench.case / "torch/eager/key_averages.csv").unlink()


@fault(
    "record-lost", "A pass left no record",
    "It was killed before its last step, and its files were moved into place by hand.",
    "freshness", "fail", "torch/eager/run.json: ", "missing", row=NOT_QUOTED,
    also="subscriber conservation export sameness clocks",
)  # fmt: skip
def record_lost(bench: Bench) -> None:
    """run.json of torch/eager is removed."""
    (bench.case / RECORD).unlink()


@fault(
    "foreign-format", "A record has a format of another version",
    "A newer version of this program wrote the capture.",
    "freshness", "fail", "another format", row=NOT_QUOTED, also="subscriber conservation export sameness clocks",
)  # fmt: skip
def foreign_format(bench: Bench) -> None:
    """run.json of torch/eager says format 99."""
    with bench.json(RECORD) as record:
        record["format"] = 99


def spun(bench: Bench, **fields: object) -> None:
    (launch,) = bench.ruler.variants["spin"]
    bench.ruler.variants["spin"] = [replace(launch, **fields)]


@fault(
    "ruler-too-fast", "A kernel takes one nanosecond less than is possible",
    "Clamped or rounded times, or a wrong unit: the kernel spins for a known time.",
    "ruler", "fail", "ruler_spin cannot take less than 1000000 ns, the book says 999999", "distrust",
    row=("kernel", "spin", "spin", "unknown"),
)  # fmt: skip
def ruler_too_fast(bench: Bench) -> None:
    """Both books have 999,999 ns for a kernel that spins for 1,000,000; exactly that is healthy."""
    spun(bench, ns=999_999)


@fault(
    "ruler-grid", "A known kernel has another grid in the books",
    "A tool that mixes up the records of two kernels.",
    "ruler", "fail", "ruler_spin has grid (8, 1, 1), the book says [(9, 1, 1)]",
    row=("kernel", "spin", "spin", "unknown"),
)  # fmt: skip
def ruler_grid(bench: Bench) -> None:
    """Both books have a grid of nine blocks for a kernel launched with eight."""
    spun(bench, grid=(9, 1, 1))


@fault(
    "ruler-count", "A known kernel has fewer launches in both books than the program made",
    "Both profilers ride on CUPTI: a record that CUPTI drops is in neither book.",
    "ruler", "fail", "ruler_spin was launched 20 times, 10 are in the book", also="conservation",
    row=("kernel", "spin", "spin", "disagree"),
)  # fmt: skip
def ruler_count(bench: Bench) -> None:
    """The program announces two launches a call; both books have one."""
    bench.ruler.expectations["spin"][0]["launches"] = 2


@fault(
    "ruler-silent", "The ruler announced nothing",
    "An older workload file, or a record that was cut down.",
    "ruler", "unknown", "spin cannot be measured with the ruler (nothing announced)",
)  # fmt: skip
def ruler_silent(bench: Bench) -> None:
    """The records of the ruler's passes hold no expectations."""
    bench.ruler.expectations = {}


@fault(
    "no-nsys-on-cpu", "There is no nsys on a machine without a GPU",
    "A laptop: one book alone proves nothing, and must not look like two.",
    "conservation", "unknown", "there was no nsys pass", "Nsight Systems",
    row=("range", "eager", "tiny/eager", "unknown"), also="export sameness freshness",
)  # fmt: skip
def no_nsys_on_cpu(bench: Bench) -> None:
    """A plan for device=cpu that leaves the nsys pass out; there is no folder nsys."""
    import shutil

    bench.scenario.device = bench.ruler.device = "cpu"
    for launches in [*bench.scenario.variants.values(), *bench.ruler.variants.values()]:
        launches.clear()
    path = bench.captures / "plan.json"
    plan = {**json.loads(path.read_text()), "passes": ["numerics", "timing", "torch"]}
    path.write_text(json.dumps(plan))
    for folder in path.parent.glob("*/*/nsys"):
        shutil.rmtree(folder)
