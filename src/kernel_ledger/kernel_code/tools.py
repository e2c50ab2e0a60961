"""The compiler's own tools, wherever this machine has them; one that is missing costs a column, never the run."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import process, toolchain
from ..errors import MachineError

TIMEOUT_S = 600


@dataclass(frozen=True)
class Tools:
    """Paths, None for what is not here."""

    nvcc: Path | None
    ptxas: Path | None
    cuobjdump: Path | None


def find_tools() -> Tools:
    """nvcc from the toolkit; ptxas and cuobjdump beside it, on PATH, or in Triton's package."""
    try:
        nvcc = toolchain.find_nvcc(os.environ)
    except MachineError:
        nvcc = None
    places = [nvcc.parent] if nvcc else []
    if spec := importlib.util.find_spec("triton"):
        places += [Path(p) / "backends" / "nvidia" / "bin" for p in spec.submodule_search_locations or ()]
    if nvcc:
        places.insert(1, toolchain.toolkit_of(nvcc, os.environ) / "bin")
    return Tools(nvcc, tool("ptxas", places), tool("cuobjdump", places))


def tool(name: str, places: Sequence[Path]) -> Path | None:
    found = shutil.which(name, path=os.pathsep.join([*map(str, places), os.environ.get("PATH", "")]))
    return Path(found) if found else None


def output(command: Sequence[str | Path], where: Path) -> tuple[str, str | None]:
    """What a tool printed, and why that is not to be believed, or None."""
    finished = process.run(command, environment=os.environ, timeout_s=TIMEOUT_S, cwd=where)
    if finished.exit_status:
        last = " ".join(finished.last_lines(3).split())
        return "", f"{Path(command[0]).name} ended with status {finished.exit_status}: {last}"
    return finished.output, None
