"""Whether this machine can measure: a GPU, asked of the driver's own libraries, and the packages needed.

``python -m kernel_ledger.machine`` prints how many GPUs there are, and exits with 1 where there is none.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys

from .errors import MachineError
from .nsys.find import find

REFERENCE = "reports/h200-reference"
REPLAY = f"snakemake --cores 1 --config replay={REFERENCE} run=replay"
ON_CPU = "snakemake --cores 1 --config device=cpu run=cpu"


def gpu_count() -> int:
    """Number of GPUs that a CUDA program started here would see; 0 without a driver."""
    if os.environ.get("CUDA_VISIBLE_DEVICES", "all").strip() in ("", "-1", "NoDevFiles"):
        return 0
    count = ctypes.c_int(0)
    for library, start, ask in (
        ("libnvidia-ml.so.1", lambda nvml: nvml.nvmlInit_v2(), lambda nvml, n: nvml.nvmlDeviceGetCount_v2(n)),
        ("libcuda.so.1", lambda cuda: cuda.cuInit(0), lambda cuda, n: cuda.cuDeviceGetCount(n)),
    ):
        try:
            driver = ctypes.CDLL(library)
        except OSError:  # this library is not here: the next one
            continue
        if start(driver) == 0 and ask(driver, ctypes.byref(count)) == 0:
            return count.value
    return 0


def check(device: str, *, nsys: str | None, with_nsys: bool) -> None:
    """Refuse to measure where it cannot succeed, before any job runs.  Raises MachineError.

    ``nsys``: its path where config.yaml gives one; ``with_nsys``: whether the run needs it.
    """
    if device == "cuda" and gpu_count() == 0:
        raise MachineError(
            "nothing can be measured: this machine has no CUDA GPU",
            expected="an NVIDIA GPU and its driver (config.yaml says device: cuda)",
            found=f"no GPU reported by the driver (CUDA_VISIBLE_DEVICES {visible()})",
            next_step=f"replay the recorded run: {REPLAY}\n            or measure on the CPU:   {ON_CPU}",
        )
    if absent := [name for name in ("torch", "nvtx") if importlib.util.find_spec(name) is None]:
        raise MachineError(
            f"nothing can be measured: {' and '.join(absent)} cannot be imported",
            expected="the packages of the extra `gpu`",
            found=f"none in {sys.executable}",
            next_step="pip install -c requirements/constraints.txt -e '.[gpu]'   (or: make run)",
        )
    if with_nsys:
        find(nsys, os.environ).require_importer()


def visible() -> str:
    value = os.environ.get("CUDA_VISIBLE_DEVICES")
    return "is not set" if value is None else f"is {value!r}"


if __name__ == "__main__":
    found = gpu_count()
    print(f"{found} CUDA GPU{'' if found == 1 else 's'}")
    sys.exit(0 if found else 1)
