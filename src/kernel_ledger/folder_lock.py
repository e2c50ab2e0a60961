"""One Snakemake in a folder, and no lock of Snakemake's own left in the way after a kill.

Snakemake marks a folder as taken by plain files, which a killed one leaves behind; it then refuses until
someone types `--unlock`.  A lock of the kernel ends with its process: whoever holds ours knows that such
files are nobody's.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

NAME = "kernel-ledger.lock"


@dataclass(frozen=True)
class Claim:
    """``holder``: who else is at work in the folder, None where this process has it; ``removed``: whether a
    lock that a killed Snakemake left was removed.  The descriptor stays open as long as the process."""

    holder: str | None
    removed: bool = False
    descriptor: int | None = None


def claim(folder: Path, *, tidy: bool = True) -> Claim:
    """Take ``folder`` (Snakemake's working directory) for this process, without waiting; with ``tidy``, remove
    what a killed Snakemake left (not once Snakemake's own lock of this process may be there).

    Where it cannot be told who is at work (a file system without locks, a folder that is not ours), nothing
    is removed and Snakemake's own lock decides.
    """
    state = folder / ".snakemake"
    try:
        state.mkdir(exist_ok=True)
        descriptor = os.open(state / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:
        return Claim(None)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.pread(descriptor, 200, 0).decode(errors="replace").strip()
        os.close(descriptor)
        return Claim(text or "a process that has not yet said who it is")
    except OSError:
        os.close(descriptor)
        return Claim(None)
    os.ftruncate(descriptor, 0)
    since = datetime.now(UTC).isoformat(timespec="seconds")
    os.pwrite(descriptor, f"snakemake, process {os.getpid()}, since {since}".encode(), 0)
    return Claim(None, tidy and _remove_stale(state / "locks"), descriptor)


def _remove_stale(locks: Path) -> bool:
    """Remove Snakemake's lock files; the folder itself it makes once and then expects."""
    removed = False
    for path in sorted(locks.glob("*.lock")):
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):
            path.unlink()
            removed = True
    return removed
