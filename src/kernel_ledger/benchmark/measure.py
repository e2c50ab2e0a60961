"""Runs a command several times, each in a fresh process: wall time, processor time, peak memory, its answer.

Starts processes itself, unlike all else here: only wait4 tells the peak memory of one child.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import LedgerError

CPU_LIMIT_S = 600
MB = 1024


@dataclass(frozen=True)
class Measurement:
    """The run with the least ``seconds``, and the greatest memory of all.

    ``seconds``: of the work itself where the process says so, else of the process; ``process_s``: of the process,
    from its start; ``cpu_s``: processor time of it and its children; ``answer``: the line of JSON that it printed.
    """

    what: str
    size: int
    seconds: float
    process_s: float
    cpu_s: float
    peak_mb: float
    runs: int
    answer: dict


def measure(what: str, size: int, command: Sequence[str], runs: int, folder: Path) -> Measurement:
    """Run ``command`` ``runs`` times.  Raises LedgerError where it fails."""
    found = [once(command, folder / "output.txt") for _ in range(runs)]
    best = min(found, key=lambda one: one[0])
    return Measurement(what, size, *best[:3], max(one[3] for one in found), runs, best[4])


def once(command: Sequence[str], output: Path) -> tuple[float, float, float, float, dict]:
    begun = time.perf_counter()
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [(os.POSIX_SPAWN_OPEN, 1, str(output), flags, 0o644), (os.POSIX_SPAWN_DUP2, 1, 2)]
    child = os.posix_spawnp(command[0], list(command), os.environ, file_actions=actions)
    resource.prlimit(child, resource.RLIMIT_CPU, (CPU_LIMIT_S, CPU_LIMIT_S))
    _, status, used = os.wait4(child, 0)
    process_s = time.perf_counter() - begun
    text = output.read_text(errors="replace")
    if os.waitstatus_to_exitcode(status) != 0:
        raise LedgerError(f"a measured command failed: {' '.join(command)}", found=text[-1000:])
    lines = [line for line in text.splitlines() if line.startswith('{"seconds"')]
    answer = json.loads(lines[-1]) if lines else {}
    seconds = answer.get("seconds", process_s)
    return seconds, process_s, used.ru_utime + used.ru_stime, used.ru_maxrss / MB, answer
