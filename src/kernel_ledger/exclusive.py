"""One measured process per GPU: a lock file per UUID, kept by whoever inherits its descriptor."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from .errors import MachineError
from .liveness import birth_of, lives

POLL_S = 0.5
REMIND_S = 30.0
WAIT_S = 3600.0
LONGEST_TEXT = 400


def default_folder() -> Path:
    """The lock folder that all users of this machine share; TMPDIR may be a user's own, so /tmp is first."""
    shared = Path("/tmp")
    root = shared if shared.is_dir() and os.access(shared, os.W_OK) else Path(tempfile.gettempdir())
    return root / "kernel-ledger-locks"


def say_on_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def gpu_lock(
    key: str,
    *,
    holder: dict[str, str],
    folder: Path | None = None,
    wait_s: float = WAIT_S,
    say: Callable[[str], None] = say_on_stderr,
) -> Iterator[int]:
    """Hold the lock of a GPU (``key``: its UUID); gives the descriptor for the measured child to inherit.

    ``holder`` ("command", "run") is shown to others who wait.  The lock belongs to the open file: a child
    that outlives a killed launcher keeps it.  Raises MachineError naming the holder after ``wait_s``.
    """
    with free_gpu_lock([key], holder=holder, folder=folder, wait_s=wait_s, say=say) as (_, descriptor):
        yield descriptor


@contextlib.contextmanager
def free_gpu_lock(
    keys: Sequence[str],
    *,
    holder: dict[str, str],
    folder: Path | None = None,
    wait_s: float = WAIT_S,
    say: Callable[[str], None] = say_on_stderr,
) -> Iterator[tuple[str, int]]:
    """Hold the lock of the first GPU of ``keys`` that nobody holds, or the first that becomes free.

    Gives its key and the descriptor; else as :func:`gpu_lock`.
    """
    key, descriptor = _take(folder or default_folder(), keys, wait_s, say)
    try:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        facts = {"pid": os.getpid(), "birth": birth_of(os.getpid()), **holder, "since": since}
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(facts).encode(), 0)
        yield key, descriptor
        os.ftruncate(descriptor, 0)  # the next holder must not be taken for this one
        # after a clean end nothing of ours runs; a helper of a tool that kept the descriptor must not hold it
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def _take(folder: Path, keys: Sequence[str], wait_s: float, say: Callable[[str], None]) -> tuple[str, int]:
    """Lock one of the files, saying for whom it is waited: at once, when that changes, and every 30 s."""
    started, said, told = time.monotonic(), 0.0, None
    while True:
        held = []
        for key in keys:
            descriptor, by = _try(folder, key)
            if descriptor is not None:
                return key, descriptor
            held.append(by)
        now, holders = time.monotonic(), "; ".join(held)
        what = f"the GPU {keys[0]}" if len(keys) == 1 else f"each of the GPUs {', '.join(keys)}"
        if now - started >= wait_s:
            raise MachineError(
                f"{what} is still taken after {wait_s:.0f} s",
                found=holders,
                next_step="wait for it to end, or end it if it is stuck; no file needs to be deleted",
            )
        if holders != told or now - said >= REMIND_S:
            say(f"waiting for {what.replace('each', 'one')}, held by {holders}")
            said, told = now, holders
        time.sleep(min(POLL_S, wait_s))


def _try(folder: Path, key: str) -> tuple[int | None, str]:
    """(the descriptor of the locked file, "") or (None, who holds it).

    Opened anew each time: where the file was deleted meanwhile (a cleaner of /tmp), the next one to come would
    lock a new file beside ours.
    """
    descriptor = _open(folder, key)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_nlink:
            return descriptor, ""
        held = "a file that was deleted"
    except BlockingIOError:
        held = describe_holder(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None, held


def _open(folder: Path, key: str) -> int:
    """Open the lock file for every user.  Created apart from opened: with fs.protected_regular, O_CREAT
    on another user's file in a sticky folder is refused."""
    path = folder / f"{key}.lock"
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o1777)
        with contextlib.suppress(FileExistsError):
            created = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
            os.fchmod(created, 0o666)  # whatever the umask says
            os.close(created)
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise MachineError(
            "the lock file of a GPU cannot be opened",
            where=path,
            found=error,
            next_step=f"give all users access to {folder} (mode 1777) and its files (mode 666)",
        ) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise MachineError("the lock file of a GPU is not a regular file", where=path)
    return descriptor


def describe_holder(descriptor: int) -> str:
    """Who holds a lock, as its file says: pid, command, run, since when, and whether it still lives."""
    try:
        facts = json.loads(os.pread(descriptor, 1 << 16, 0))
        pid = int(facts["pid"])
    except (ValueError, KeyError, TypeError):  # taken this moment, or written by something else
        return "a process that has not yet said who it is"
    command, run, since = (facts.get(key, "?") for key in ("command", "run", "since"))
    text = f"pid {pid} ({command}, run {run}) since {since}"
    if not lives(pid, facts.get("birth")):
        text += "; that process is gone, a child of it still measures"
    # any user may write into the file, and this goes to a terminal
    return "".join(c if c.isprintable() else "?" for c in text[:LONGEST_TEXT])
