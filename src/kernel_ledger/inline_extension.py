"""An extension from source text through torch.utils.cpp_extension.load_inline: the quick route, beside our built one.

It is compiled once, by the numerics pass, into a folder that later passes find by a hash of what went into it: they
load a finished file and start no compiler.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import os
import shutil
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from . import toolchain
from .errors import MachineError

DONE = "whole"  # the file that says that a folder's build came to its end


def unavailable(device: str) -> str | None:
    """Why this machine cannot build such an extension, or None."""
    if device == "cpu":
        return "it is CUDA source, and the device is cpu"
    header = Path(sysconfig.get_path("include")) / "Python.h"
    return (
        None
        if header.is_file()
        else f"load_inline needs {header.name}, and this Python was installed without it"
    )


def load(
    name: str, *, cpp: str, cuda: str, functions: Sequence[str], include: Path, folder: Path
) -> ModuleType:
    """The module ``name`` of C++ and CUDA source, built below ``folder`` where it is not there yet.

    ``include``: a folder of headers; their text is part of the hash.  Raises MachineError if it does not compile.
    """
    import torch

    headers = sorted(include.glob("*.h"))
    parts = [name, torch.__version__, str(torch.version.cuda), cpp, cuda, *(h.read_text() for h in headers)]
    capability = torch.cuda.get_device_capability()
    digest = hashlib.sha256("\0".join([*parts, str(capability)]).encode()).hexdigest()[:16]
    place = folder / f"{name}-{digest}"
    if not (place / DONE).is_file():
        build(name, cpp, cuda, functions, include, place)
    library = place / f"{name}.so"
    spec = importlib.util.spec_from_file_location(
        name, library, loader=importlib.machinery.ExtensionFileLoader(name, str(library))
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build(name: str, cpp: str, cuda: str, functions: Sequence[str], include: Path, place: Path) -> None:
    """Compile into a temporary folder beside ``place``, and give it that name when it is whole."""
    environ = os.environ
    ninja = toolchain.find_ninja(environ, Path(sysconfig.get_path("scripts")))
    nvcc = toolchain.find_nvcc(environ)
    environ["PATH"] = os.pathsep.join([environ.get("PATH", ""), str(ninja.parent)])
    environ["CUDA_HOME"] = str(toolchain.toolkit_of(nvcc, environ))
    from torch.utils import cpp_extension

    place.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
    try:
        cpp_extension.load_inline(
            name=name,
            cpp_sources=cpp,
            cuda_sources=cuda,
            functions=list(functions),
            extra_cflags=["-O3"],
            extra_cuda_cflags=["-O3"],
            extra_include_paths=[str(include.resolve())],
            build_directory=str(partial),
        )
        (partial / DONE).touch()
        shutil.rmtree(place, ignore_errors=True)
        partial.rename(place)
    except (RuntimeError, OSError) as error:
        raise MachineError(
            f"load_inline could not build {name}",
            where=place,
            found="\n".join(str(error).splitlines()[-25:]),
            next_step="leave the variant out with `variants:` in config.yaml, or repair the compiler",
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
