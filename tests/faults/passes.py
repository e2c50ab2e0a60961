"""Passes that ran on different things, in company, on a slowed GPU, or against a ruler that they fail."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

from kernel_ledger.nvml import HARMFUL

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


@fault(
    "throttled", "The GPU was throttled during a pass",
    "Heat or the power cap lowers the clock for seconds; the median moves by some percent.",
    "clocks", "fail", "torch/eager: the GPU was throttled", "cool", row=NOT_QUOTED,
)  # fmt: skip
def throttled(bench: Bench) -> None:
    """One NVML sample during torch/eager has the reason hw_thermal_slowdown."""
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
    bench.scenario.device = bench.ruler.device = "cpu"
    for launches in [*bench.scenario.variants.values(), *bench.ruler.variants.values()]:
        launches.clear()
    path = bench.captures / "plan.json"
    plan = {**json.loads(path.read_text()), "passes": ["numerics", "timing", "torch"]}
    path.write_text(json.dumps(plan))
    for folder in path.parent.glob("*/*/nsys"):
        shutil.rmtree(folder)
