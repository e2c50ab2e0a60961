"""Whether the process with a number still runs on this machine, and is still the same one."""

from __future__ import annotations

import os
from pathlib import Path


def lives(pid: int, birth: str | None = None) -> bool:
    """A zombie counts as living, and so does a process of another user.

    ``birth``: what :func:`birth_of` said of it once; a later process with its number is not it.
    """
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return birth is None or birth_of(pid) in (birth, None)


def birth_of(pid: int) -> str | None:
    """When a process began, in clock ticks since the machine did; None where there is no /proc."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None
