"""Whether the process with a number still runs on this machine."""

from __future__ import annotations

import os


def lives(pid: int) -> bool:
    """A zombie counts as living, and so does a process of another user."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
