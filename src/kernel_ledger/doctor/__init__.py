"""What this machine has and lacks for measuring: one line each, with what to do.

Imports no torch.  `make doctor` prints it, the rule preflight asks it before anything is measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..environment import allowed
from ..errors import MachineError
from . import gpu
from .compilers import compiler_lines
from .finding import Line
from .host import counters_for_administrators, disk_line, perf_event_paranoid
from .nsight import counter_lines, nsys_lines
from .packages import installed, package_lines, python_line, torch_cuda

INSTEAD = "this machine can replay (make replay) and run the passes on its CPU (make cpu)"


def diagnose(environ: Mapping[str, str], *, nsys: str | None = None) -> list[Line]:
    """All lines.  ``nsys``: the path that config.yaml gives."""
    found = gpu.examine(environ)
    tools = allowed(environ)
    return [
        *found.lines,
        python_line(),
        *package_lines(),
        *compiler_lines(tools, found.cuda, torch_cuda()),
        *nsys_lines(nsys, environ, found.driver, installed("nvtx")),
        *counter_lines(perf_event_paranoid(), counters_for_administrators()),
        disk_line(Path.cwd(), installed("torch") is not None),
    ]


def obstacles(lines: Sequence[Line], *needed: str) -> list[Line]:
    """What stops any of what is needed: "cuda", "cpu", "build"."""
    return [line for line in lines if set(needed) & set(line.stops)]


def conclusion(lines: Sequence[Line]) -> tuple[str, int]:
    """The last line of `make doctor`, and its exit status: 0 where `make run` can measure here."""
    found = [line for line in obstacles(lines, "cuda", "build") if not line.make_installs]
    if not found:
        return "`make run` can measure here.", 0
    names = ", ".join(line.what for line in found)
    return f"`make run` cannot measure here ({names}); {INSTEAD}.", 1


def report(lines: Sequence[Line]) -> str:
    return "".join(f"{line}\n" for line in lines)


def require(lines: Sequence[Line], device: str) -> None:
    """Raise MachineError with every obstacle to measuring on ``device``; the rule build speaks for itself."""
    if found := obstacles(lines, device):
        told = "".join(f"\n            {line.what}: {line.found}" for line in found)
        steps = "".join(f"\n            {line.what}: {line.advice}" for line in found)
        raise MachineError(
            "nothing can be measured on this machine", found=told.lstrip(), next_step=steps.lstrip()
        )
