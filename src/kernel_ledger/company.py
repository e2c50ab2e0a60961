"""Who computes on a GPU while a pass does: the measured process, and nobody else.

NVML tells process numbers of the host.  In a container they may be missing, or belong to nobody seen here; then
all that can be said is how many there were, and how much memory was taken before and after.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

DEPTH = 64


def descends(pid: int, ancestor: int) -> bool:
    """Whether a process is ``ancestor`` or was started below it (our guards keep orphans below us)."""
    for _ in range(DEPTH):
        if pid == ancestor:
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            return False
    return False


class Company:
    """Gathers what each look at the list of a GPU's compute processes showed."""

    def __init__(self) -> None:
        self._own: set[int] = set()
        self._others: dict[int, str | None] = {}
        self._most, self._looks, self._untold = 0, 0, 0

    def note(self, processes: Iterable[Mapping[str, Any]] | None) -> None:
        """One look: processes as pid and name, None where NVML does not tell."""
        self._looks += 1
        if processes is None:
            self._untold += 1
            return
        listed = {p["pid"]: p["name"] for p in processes}
        self._most = max(self._most, len(listed))
        for pid, name in listed.items():
            if pid in self._own or descends(pid, os.getpid()):
                self._own.add(pid)
            else:
                self._others[pid] = name

    def summary(self) -> dict[str, Any]:
        """``own_seen``: whether the measured process was in the list; ``others``: those that are not ours;
        ``most_at_once``; ``looks`` and how many of them were ``untold``."""
        return {
            "own_seen": bool(self._own),
            "others": [{"pid": pid, "name": name} for pid, name in sorted(self._others.items())],
            "most_at_once": self._most,
            "looks": self._looks,
            "untold": self._untold,
        }
