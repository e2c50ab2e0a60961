"""The environment of a measured process: an allow-list, because a .nsys-rep carries all of it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .credentials import Needle, looks_like_credential, needles

PACKAGE_ROOT = Path(__file__).resolve().parents[1]

ALLOWED = (
    "PATH",
    "LD_LIBRARY_PATH",
    "VIRTUAL_ENV",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "CC",
    "CXX",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "GOTO_NUM_THREADS",
    "NCCL_NVLS_ENABLE",
    "TORCH_SYMM_MEM_DISABLE_MULTICAST",
    "NVSHMEM_DISABLE_NVLS",
)


def allowed(
    environ: Mapping[str, str],
    extra: Iterable[str] = (),
    *,
    home: Path | None = None,
    cache: Path | None = None,
) -> dict[str, str]:
    """The environment for a child: allowed names, ``extra`` names from config.yaml, and our own settings.

    ``home``: what HOME is set to (the temporary folder where None).  ``cache``: folder for compiled
    kernels of Inductor and Triton, shared by all passes so that none of them measures a compiler.
    """
    kept = {name: environ[name] for name in (*ALLOWED, *extra) if name in environ}
    kept["HOME"] = str(home.resolve() if home else tempfile.gettempdir())
    kept["PYTHONPATH"] = ":".join(filter(None, [str(PACKAGE_ROOT), environ.get("PYTHONPATH", "")]))
    kept.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # NVML's order: the locked GPU is the measured one
    kept["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # no pool of worker processes beside the measured one
    if cache is not None:
        kept["TORCHINDUCTOR_CACHE_DIR"] = str(cache.resolve() / "inductor")
        kept["TRITON_CACHE_DIR"] = str(cache.resolve() / "triton")
    return kept


def withheld(environ: Mapping[str, str], extra: Iterable[str] = ()) -> dict[str, str]:
    """Name and value of every variable that :func:`allowed` keeps back, for the search after export."""
    passed = {*ALLOWED, *extra, "PYTHONPATH"}
    return {name: value for name, value in environ.items() if name not in passed}


def secrets(environ: Mapping[str, str], plan: Mapping[str, Any]) -> list[Needle]:
    """What no file of a run may hold: the withheld values that are not trivial."""
    extra = plan["environment"]
    return needles(withheld(environ, extra), allowed(environ, extra), [json.dumps(plan)])


def exposed(environ: Mapping[str, str], extra: Iterable[str]) -> list[dict[str, str]]:
    """A warning (source, text) for each name that the configuration lets through and that looks like a credential."""
    return [
        {"source": "environment", "text": f"{name} looks like a credential, and `environment:` in config.yaml lets it"
         " through: report.nsys-rep holds its value; do not share it"}
        for name in extra
        if name in environ and looks_like_credential(name)
    ]  # fmt: skip
