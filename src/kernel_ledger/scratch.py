"""A temporary folder of a launcher, which a later one removes if this one is killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PREFIX = "kernel-ledger-scratch-"
MARK = ".in-use"
AGE_S = 60.0  # a folder gets its mark within milliseconds


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A fresh folder in the system's own for temporary files (a short path: nsys makes sockets in it)."""
    _remove_abandoned(Path(tempfile.gettempdir()))
    folder, mark = _fresh()
    try:
        yield folder
    finally:
        os.close(mark)
        _remove(folder)


def _fresh() -> tuple[Path, int]:
    """A folder, and its mark locked until this process ends, however it ends."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        mark = os.open(folder / MARK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(mark, fcntl.LOCK_EX)
        if os.fstat(mark).st_nlink:
            return folder, mark
        os.close(mark)  # another one took it for abandoned between the last two steps


def _remove_abandoned(parent: Path) -> None:
    """Remove folders of ours that nobody holds; one without its mark is just being made, or is not ours, unless it
    is empty and of some age: then its maker, or whoever removed it, was killed on the way."""
    for folder in parent.glob(f"{PREFIX}*"):
        try:
            mark = os.open(folder / MARK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            with contextlib.suppress(OSError):  # not empty, or gone
                if time.time() - folder.stat().st_mtime > AGE_S:
                    folder.rmdir()
            continue
        try:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(folder)
        except BlockingIOError:
            pass
        finally:
            os.close(mark)


def _remove(folder: Path) -> None:
    """The mark goes last: who is killed on the way leaves a folder that the next one still finds."""
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != MARK:
                with contextlib.suppress(OSError):
                    path.unlink()
    shutil.rmtree(folder, ignore_errors=True)
