"""compute-sanitizer around the same checks: out-of-bounds accesses that give the right result, and races."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import process, toolchain
from ..environment import allowed
from ..errors import MachineError

TOOLS = ("memcheck", "racecheck")
FOUND = 86  # the exit status that we ask for where the tool found an error
TIMEOUT_S = 240.0
SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+) (?:errors?|hazards?)[^\n]*")


def find_sanitizer(environ: Mapping[str, str]) -> Path | None:
    """compute-sanitizer of PATH or of the CUDA toolkit, or None."""
    if found := shutil.which("compute-sanitizer", path=environ.get("PATH", "")):
        return Path(found)
    try:
        toolkit = toolchain.toolkit_of(toolchain.find_nvcc(environ), environ)
    except MachineError:
        toolkit = toolchain.TOOLKIT
    places = [toolkit / "bin" / "compute-sanitizer", toolkit / "compute-sanitizer" / "compute-sanitizer"]
    return next((place for place in places if os.access(place, os.X_OK)), None)


def sanitize(sanitizer: Path, tool: str, command: Sequence[str], log: Path) -> dict[str, Any]:
    """Run ``command`` under one tool; what it said, and whether it is clean.

    torch's allocator hands out pieces of large blocks, in which no access is out of bounds: it is switched off.
    """
    environment = allowed(os.environ, home=Path("build/cuda/home"), cache=Path("build/cuda/cache"))
    environment["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"
    options = ["--tool", tool, "--error-exitcode", str(FOUND), "--report-api-errors", "no"]
    options += ["--target-processes", "application-only"]  # not the compilers that Triton starts
    finished = process.run(
        [str(sanitizer), *options, *command], environment=environment, log=log, timeout_s=TIMEOUT_S
    )
    summary = SUMMARY.findall(finished.output)
    clean = finished.exit_status == 0 and set(summary) == {"0"}
    return {
        "status": "pass" if clean else "fail",
        "errors": sum(map(int, summary)) if summary else None,
        "exit_status": finished.exit_status,
        "seconds": round(finished.seconds, 1),
        "reason": None if clean else reason(finished, summary),
    }


def reason(finished: process.Finished, summary: Sequence[str]) -> str:
    if finished.timed_out:
        return f"it ran past {TIMEOUT_S:g} s"
    if not summary:
        return f"the tool wrote no summary; its end: {finished.last_lines(5)}"
    if set(summary) == {"0"}:
        return f"no error in memory, but the checks ended with status {finished.exit_status}: see the log"
    return f"{summary[-1]} errors: see the log"
