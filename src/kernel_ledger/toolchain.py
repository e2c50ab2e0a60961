"""The compilers of this machine: where they are, their versions, and whether they can build for a GPU."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import process
from .errors import MachineError

TOOLKIT = Path("/usr/local/cuda")
QUERY_TIMEOUT_S = 60.0


def find_nvcc(environ: Mapping[str, str], toolkit: Path = TOOLKIT) -> Path:
    """The nvcc of CUDA_HOME or CUDA_PATH where one is set, else of PATH, else of ``toolkit`` (torch's order).

    Raises MachineError naming every place that was searched.
    """
    homes = [environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if environ.get(name)]
    places = [Path(home) / "bin" / "nvcc" for home in homes[:1]]
    if not homes:
        on_path = shutil.which("nvcc", path=environ.get("PATH", ""))
        places = [Path(on_path)] if on_path else []
        places.append(toolkit / "bin" / "nvcc")
    for place in places:
        if os.access(place, os.X_OK):
            return place
    searched = [str(place) for place in places] if homes else ["PATH", *map(str, places)]
    raise MachineError(
        "nvcc not found, so the CUDA kernels cannot be built",
        found=f"searched {', '.join(searched)}",
        next_step="install the CUDA toolkit of torch's CUDA version, or set CUDA_HOME to where it is",
    )


def toolkit_of(nvcc: Path, environ: Mapping[str, str]) -> Path:
    """The CUDA toolkit's folder as nvcc itself sees it: what was found may be a wrapper or a link to it."""
    text = _ask([nvcc, "--dryrun", "-E", "-x", "cu", os.devnull], environ)
    match = re.search(r"^#\$ _HERE_=(.+)$", text, flags=re.MULTILINE)
    return Path(match[1].strip()).parent if match else nvcc.parents[1]


def nvcc_version(nvcc: Path, environ: Mapping[str, str]) -> str:
    """Such as ``13.0.88``.  Raises MachineError if this nvcc does not tell."""
    text = _ask([nvcc, "--version"], environ)
    if match := re.search(r"\bV(\d+(?:\.\d+)+)", text) or re.search(r"release (\d+\.\d+)", text):
        return match[1]
    raise MachineError("nvcc does not tell its version", where=nvcc, found=text.strip() or "no output")


def require_same_major(nvcc: Path, version: str, torch_cuda: str | None) -> None:
    """Raises MachineError unless nvcc and torch are of one CUDA major version (no other pair can link)."""
    if torch_cuda is None:
        raise MachineError(
            "this torch was built without CUDA",
            expected="a torch whose torch.version.cuda is set",
            found="torch.version.cuda is None",
            next_step="install a CUDA build of torch, or set `device: cpu`",
        )
    if version.split(".")[0] != torch_cuda.split(".")[0]:
        raise MachineError(
            "nvcc and torch are of different CUDA major versions",
            where=nvcc,
            expected=f"CUDA {torch_cuda.split('.')[0]}, since torch was built with {torch_cuda}",
            found=f"nvcc {version}",
            next_step="set CUDA_HOME to a toolkit of torch's version, or install a torch of nvcc's",
        )


def supported_architectures(nvcc: Path, environ: Mapping[str, str]) -> list[str]:
    """What nvcc can build for, such as ``["7.5", "9.0", "12.0"]``, ascending."""
    numbers = {int(n) for n in re.findall(r"compute_(\d+)", _ask([nvcc, "--list-gpu-arch"], environ))}
    return [f"{number // 10}.{number % 10}" for number in sorted(numbers)]


def require_supported(nvcc: Path, architectures: Sequence[str], supported: Sequence[str]) -> None:
    """Raises MachineError naming the architectures that this nvcc cannot build for."""
    if unsupported := [a for a in architectures if a.rstrip("abcdefghijklmnopqrstuvwxyz") not in supported]:
        raise MachineError(
            f"nvcc cannot build for GPU architecture {', '.join(unsupported)}",
            where=nvcc,
            expected=f"one of {', '.join(supported) or 'none (--list-gpu-arch printed nothing)'}",
            found=", ".join(architectures),
            next_step="correct `architectures` in config.yaml, or install a CUDA toolkit that knows this GPU",
        )


def gencode(architectures: Sequence[str]) -> list[str]:
    """nvcc's flags for machine code of these architectures alone: no PTX for a driver to compile later."""
    numbers = [architecture.replace(".", "") for architecture in architectures]
    return [f"-gencode=arch=compute_{number},code=sm_{number}" for number in numbers]


def find_compiler(environ: Mapping[str, str]) -> Path:
    """The C++ compiler that torch will call: $CXX, else c++.  Raises MachineError if there is none."""
    name = environ.get("CXX") or "c++"
    if found := shutil.which(name, path=environ.get("PATH", "")):
        return Path(found)
    raise MachineError(
        f"no C++ compiler: there is no command {name!r}",
        found=f"searched PATH={environ.get('PATH', '')}" + (" for $CXX" if environ.get("CXX") else ""),
        next_step="install g++ (Debian, Ubuntu: apt install g++), or set CXX to a C++17 compiler",
    )


def compiler_version(compiler: Path, environ: Mapping[str, str]) -> str:
    """The first line of what the compiler says of itself."""
    return _ask([compiler, "--version"], environ).partition("\n")[0].strip()


def standard_library(compiler: Path, environ: Mapping[str, str], memory_map: str) -> list[str]:
    """Linker arguments that make the extension share torch's libstdc++; none where it would anyway.

    Where there is no libstdc++.so a compiler takes libstdc++.a in silence.  Two copies in one process crash
    as soon as one formats a number for the other (seen: an error text with a tensor's shape).
    ``memory_map``: /proc/self/maps of a process that has imported torch.
    """
    if "/" in _ask([compiler, "-print-file-name=libstdc++.so"], environ):
        return []
    return re.findall(r"/\S*libstdc\+\+\.so\.\d+\S*", memory_map)[:1]


def find_ninja(environ: Mapping[str, str], scripts: Path) -> Path:
    """ninja of PATH, or of the Python environment's ``scripts`` folder.  Raises MachineError."""
    if found := shutil.which("ninja", path=os.pathsep.join([environ.get("PATH", ""), str(scripts)])):
        return Path(found)
    raise MachineError(
        "ninja not found, so the extension cannot be built",
        found=f"searched PATH and {scripts}",
        next_step="install the gpu dependencies (they include ninja)",
    )


def _ask(command: Sequence[str | os.PathLike[str]], environ: Mapping[str, str]) -> str:
    finished = process.run(command, environment=environ, timeout_s=QUERY_TIMEOUT_S)
    if finished.exit_status:
        raise MachineError(
            f"`{' '.join(finished.command)}` failed with exit status {finished.exit_status}",
            found=finished.last_lines() or "no output",
            next_step="run it by hand, and repair the installation",
        )
    return finished.output
