"""One run of the checks: the library loaded, every kernel checked, results written and told."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from ..errors import MachineError
from .checks import check_kernel, check_ruler
from .kernels import kernels
from .record import told, write_results
from .sanitizer import TOOLS, find_sanitizer, sanitize


def check_all(
    device: str, library: Path, folder: Path, again: Callable[[], Mapping[str, Any]] | None
) -> bool:
    """Check everything, write results.csv and summary.json; whether all that ran passed.

    ``again`` does it under the sanitizers, afterwards, when everything is compiled; None leaves out these, and giant
    tensors.
    Raises MachineError where there is no library, or no GPU for device "cuda".
    """
    if not library.is_file():
        raise MachineError(
            "the kernels are not built", where=library, next_step="make check-kernels builds them"
        )
    if device == "cuda" and not torch.cuda.is_available():
        raise MachineError(
            "torch sees no CUDA GPU", next_step="make check-kernels without one checks on the CPU"
        )
    torch.ops.load_library(str(library.resolve()))
    results = [
        result
        for kernel in kernels(device)
        for result in check_kernel(kernel, device, giant=again is not None)
    ]
    results += check_ruler(device)
    sanitizers = again() if again else {}
    passed = write_results(folder, device, library, results, sanitizers)
    print(told(results, sanitizers), file=sys.stderr)
    print(f"{'passed' if passed else 'FAILED'}: {folder}/results.csv, summary.json", file=sys.stderr)
    return passed


def sanitized(command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> dict[str, Any]:
    """The checks of ``command`` under each tool; a machine without compute-sanitizer is told, not passed over."""
    found = find_sanitizer(environ)
    if found is None:
        why = "compute-sanitizer is neither in PATH nor in the CUDA toolkit"
        return {tool: {"status": "not_run", "reason": why} for tool in TOOLS}
    folder.mkdir(parents=True, exist_ok=True)
    outcomes = {}
    for tool in TOOLS:
        print(f"{tool} ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="kernel-ledger-") as own:
            outcomes[tool] = sanitize(found, tool, [*command, "--output", own], folder / f"{tool}.log")
    return outcomes
