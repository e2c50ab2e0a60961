"""What builds the kernels, and whether the CUDA versions of driver, torch and nvcc go together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ..errors import MachineError
from ..toolchain import TOOLKIT, compiler_version, find_compiler, find_nvcc, nvcc_version, require_same_major
from .finding import Line, good, missing

TOOLKIT_ADVICE = "install the CUDA toolkit of torch's version"
MOST_CHARACTERS = 160


def compiler_lines(
    environ: Mapping[str, str], driver_cuda: str | None, torch_cuda: str | None, toolkit: Path = TOOLKIT
) -> Iterator[Line]:
    """nvcc, the C++ compiler, and torch's CUDA against nvcc's and the driver's."""
    try:
        nvcc = find_nvcc(environ, toolkit)
        version = nvcc_version(nvcc, environ)
        if torch_cuda:
            require_same_major(nvcc, version, torch_cuda)
        yield good("nvcc", f"{version} ({nvcc})")
    except MachineError as error:
        yield missing("nvcc", told(error), error.next_step or TOOLKIT_ADVICE, stops=("build",))
    if driver_cuda and torch_cuda and major(driver_cuda) < major(torch_cuda):
        found = f"torch needs CUDA {torch_cuda}, the driver knows CUDA {driver_cuda}"
        yield missing("CUDA versions", found, "update the driver, or install a torch of the driver's CUDA")
    elif driver_cuda and torch_cuda:
        yield good("CUDA versions", f"torch {torch_cuda}, driver {driver_cuda}")
    try:
        compiler = find_compiler(environ)
        yield good("C++ compiler", f"{compiler_version(compiler, environ)} ({compiler})")
    except MachineError as error:
        yield missing("C++ compiler", told(error), error.next_step or "install g++", stops=("build",))


def told(error: MachineError) -> str:
    """An error on one line: what, and what was found, or where one looked if that is a long list."""
    found = str(
        error.found
        if error.found is not None and len(str(error.found)) <= MOST_CHARACTERS
        else error.expected
    )
    return " ".join(f"{error.what}; {found}".split())


def major(version: str) -> int:
    return int(version.split(".")[0])
