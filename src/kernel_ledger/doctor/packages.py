"""Python and its packages, by what is installed: nothing is imported, so torch's absence costs nothing."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .finding import DEVICES, Line, good, missing, warning

INSTALL = "make run (on a GPU node) or make cpu installs it, or: pip install -c requirements/constraints.txt -e '.[gpu]'"
OLDEST_PYTHON = (3, 11)


def installed(name: str) -> str | None:
    """A package's version, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def torch_cuda() -> str | None:
    """CUDA version that the installed torch was built with ("13.0"), read from its files; None for a CPU build."""
    try:
        spec = importlib.util.find_spec("torch")
    except ValueError:  # a stand-in for torch without a spec
        return None
    path = Path(spec.origin).with_name("version.py") if spec and spec.origin else None
    if path is None or not path.is_file():
        return None
    match = re.search(r"^cuda\s*(?::[^=\n]*)?=\s*['\"]([\d.]+)['\"]", path.read_text(), re.MULTILINE)
    return match[1] if match else None


def python_line(found: tuple[int, ...] = sys.version_info[:3]) -> Line:
    text = ".".join(map(str, found))
    if found[:2] >= OLDEST_PYTHON:
        return good("Python", f"{text} ({sys.executable})")
    return missing("Python", text, "use Python 3.11 or newer: make PYTHON=python3.12 run", stops=DEVICES)


def package_lines() -> Iterator[Line]:
    """torch, ninja and NVML's binding; nvtx is judged with nsys."""
    torch, cuda = installed("torch"), torch_cuda()
    if torch is None:
        yield missing("torch", "not installed", INSTALL, stops=DEVICES, make_installs=True)
    elif cuda is None:
        advice = "to measure on a GPU: pip install a torch built with CUDA (see pytorch.org)"
        yield missing("torch", f"{torch}, built without CUDA", advice)
    else:
        yield good("torch", f"{torch}, built with CUDA {cuda}")
    ninja = installed("ninja")
    lacking = missing("ninja", "not installed", INSTALL, stops=("build",), make_installs=True)
    yield good("ninja", ninja) if ninja else lacking
    nvml = installed("nvidia-ml-py")
    advice = f"without it nobody knows clocks and other processes; {INSTALL}"
    yield good("nvidia-ml-py", nvml) if nvml else warning("nvidia-ml-py", "not installed", advice)
