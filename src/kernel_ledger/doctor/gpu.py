"""The GPU, its driver, and who else computes on it: from NVML, or without it from the driver's own files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import MachineError
from ..machine import gpu_count, visible
from ..nvml import Nvml
from .finding import Line, good, missing, note, warning


@dataclass(frozen=True)
class Gpu:
    """What is known of the GPU that would be measured on; None where nobody tells."""

    lines: tuple[Line, ...]
    driver: str | None = None
    cuda: str | None = None


def examine(
    environ: Mapping[str, str],
    *,
    library: Any = None,
    count: Callable[[], int] = gpu_count,
    root: Path = Path("/"),
) -> Gpu:
    """GPU, driver and other processes.  ``library``: NVML's Python binding; ``root``: of /dev and /proc."""
    driver = driver_of(root)
    if count() == 0:
        return Gpu((no_gpu(driver, root),), driver)
    try:
        nvml = Nvml(library)
        gpu = nvml.visible(environ)[0]
    except MachineError as error:
        lines = (good("GPU", f"{count()} that CUDA programs see"), driver_line(driver, None))
        return Gpu((*lines, note("GPU processes", f"not known: {error.what}")), driver)
    driver, cuda = gpu["driver"] or driver, driver_cuda(nvml)
    memory = f", {gpu['memory_bytes'] / 2**30:.0f} GiB" if gpu["memory_bytes"] else ""
    found = good("GPU", f"{gpu['name']}{memory}, {gpu['uuid']} (the first of {count()})")
    return Gpu((found, driver_line(driver, cuda), *process_lines(nvml, gpu["uuid"])), driver, cuda)


def no_gpu(driver: str | None, root: Path) -> Line:
    """Why there is none: hidden, without a driver's devices, or not there."""
    devices = sorted(path.name for path in (root / "dev").glob("nvidia[0-9]*"))
    found = f"none that a CUDA program sees (CUDA_VISIBLE_DEVICES {visible()})"
    if devices:
        return missing(
            "GPU",
            f"{found}, though there is /dev/{devices[0]}",
            "unset CUDA_VISIBLE_DEVICES, or see nvidia-smi",
        )
    if driver:
        return missing("GPU", f"{found}; the driver {driver} is loaded", "give this container or job a GPU")
    return missing(
        "GPU", f"{found} and no NVIDIA driver", "here `make run` replays; `make cpu` runs all passes without"
    )


def driver_of(root: Path) -> str | None:
    """The version of the loaded driver, such as "580.65.06"."""
    path = root / "proc/driver/nvidia/version"
    match = re.search(r"(?<![\w.])(\d{3}\.\d+(?:\.\d+)*)", path.read_text()) if path.is_file() else None
    return match[1] if match else None


def driver_cuda(nvml: Nvml) -> str | None:
    """The newest CUDA that the driver knows, such as "13.0"."""
    number = nvml.optional("nvmlSystemGetCudaDriverVersion_v2")
    return f"{number // 1000}.{number % 1000 // 10}" if number else None


def driver_line(driver: str | None, cuda: str | None) -> Line:
    if driver is None:
        return warning("driver", "its version is not known", "see nvidia-smi")
    return good("driver", driver + (f", for CUDA up to {cuda}" if cuda else ""))


def process_lines(nvml: Nvml, uuid: str) -> Iterator[Line]:
    others = nvml.processes(uuid)
    if others is None:
        yield note("GPU processes", "this driver does not tell them")
    elif others:
        names = ", ".join(f"{process['pid']} ({process['name']})" for process in others)
        yield warning(
            "GPU processes",
            f"others compute on it: {names}",
            "wait for them to end: a shared GPU fails `clocks`",
        )
    else:
        yield good("GPU processes", "nobody else computes on it")
