"""What a measured process can tell of its arithmetic, its software and its GPU."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping
from typing import Any

import torch

from .. import __version__


def tf32_state() -> dict[str, Any]:
    """What torch says of TF32 now, asked both ways (the new one gives None before torch 2.9)."""
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    questions = {
        "matmul_allow_tf32": lambda: matmul.allow_tf32,
        "cudnn_allow_tf32": lambda: cudnn.allow_tf32,
        "float32_matmul_precision": torch.get_float32_matmul_precision,
        "matmul_fp32_precision": lambda: getattr(matmul, "fp32_precision", None),
    }
    answers: dict[str, Any] = {}
    for name, ask in questions.items():
        try:
            answers[name] = ask()
        except RuntimeError as error:  # torch refuses to say where a workload mixed the two ways
            answers[name] = str(error)
    return answers


def versions(probe: Mapping[str, Any]) -> dict[str, str | None]:
    """Versions as this process sees them; the launcher adds driver, nvcc and nsys."""
    cudnn = torch.backends.cudnn.version() if torch.cuda.is_available() else None
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": None if cudnn is None else str(cudnn),
        "cupti": probe.get("version"),
        "nvtx": installed_version("nvtx"),
        "triton": installed_version("triton"),
        "kernel_ledger": __version__,
    }


def installed_version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def gpu() -> dict[str, Any]:
    """The GPU in use; what this torch does not tell is None."""
    index = torch.cuda.current_device()
    properties = torch.cuda.get_device_properties(index)
    uuid = str(getattr(properties, "uuid", "") or "")
    return {
        "index": index,
        "name": properties.name,
        "uuid": None if not uuid else uuid if uuid.startswith("GPU-") else f"GPU-{uuid}",
        "l2_bytes": getattr(properties, "L2_cache_size", None),
        "memory_bytes": properties.total_memory,
        "sm_count": properties.multi_processor_count,
        "compute_capability": f"{properties.major}.{properties.minor}",
        "memory_clock_khz": getattr(properties, "memory_clock_rate", None),
        "memory_bus_bits": getattr(properties, "memory_bus_width", None),
    }
