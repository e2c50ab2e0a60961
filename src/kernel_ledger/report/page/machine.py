"""The machine and the versions of a run: what all of its passes recorded, once each."""

from __future__ import annotations

import msgspec

from .read import Case, Run, decode, distinct

GPU = (("name", "GPU"), ("uuid", "GPU UUID"), ("compute_capability", "compute capability"), ("sm_count", "SMs"),
       ("memory_bytes", "GPU memory"), ("l2_bytes", "L2"), ("memory_clock_khz", "memory clock"))  # fmt: skip
VERSIONS = (("driver", "driver"), ("cuda", "CUDA"), ("torch", "PyTorch"), ("triton", "Triton"), ("cudnn", "cuDNN"),
            ("cupti", "CUPTI"), ("nvcc", "nvcc"), ("nsys", "Nsight Systems"), ("nvtx", "nvtx"), ("python", "Python"),
            ("kernel_ledger", "kernel-ledger"))  # fmt: skip
UNITS = {
    "memory_bytes": lambda v: f"{v / 2**30:.1f} GiB",
    "l2_bytes": lambda v: f"{v / 2**20:.0f} MiB",
    "memory_clock_khz": lambda v: f"{v / 1e3:.0f} MHz",
}


class Record(msgspec.Struct):
    """The parts of a pass's run.json that name the machine."""

    versions: dict[str, str | None] = {}
    gpu: dict[str, str | int | float | None] | None = None


def machine(run: Run) -> list[tuple[str, list[str]]]:
    """(what, its values): one value where all passes of all cases agree."""
    found = [record for case in run.cases for record in records(case)]
    lines = []
    for key, title in GPU:
        values = distinct([shown(key, (record.gpu or {}).get(key)) for record in found])
        lines.append((title, values))
    for key, title in VERSIONS:
        lines.append((title, distinct([record.versions.get(key) for record in found])))
    return [(title, values) for title, values in lines if values]


def records(case: Case) -> list[Record]:
    """Every run.json of a case that can be read."""
    paths = sorted(case.folder.rglob("run.json"))
    read = [case.attempt("machine and versions", lambda p=path: decode(p, Record)) for path in paths]
    return [record for record in read if record is not None]


def shown(key: str, value: object) -> object:
    return UNITS[key](value) if key in UNITS and isinstance(value, (int, float)) else value
