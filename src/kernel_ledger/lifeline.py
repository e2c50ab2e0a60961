"""The life line: a pipe that only the launcher holds open, so that its end reaches every descendant.

The kernel's death signal reaches the direct child alone; under nsys the measured process is a grandchild.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Mapping

VARIABLE = "KERNEL_LEDGER_LIFELINE"
EXIT_STATUS = 137


def watch(environ: Mapping[str, str]) -> str | None:
    """End this process when the launcher does.  Returns why there is nothing to watch, or None."""
    text = environ.get(VARIABLE, "")
    if not text.isdigit():
        return f"{VARIABLE} is not set: this process was not started by kernel-ledger"
    descriptor = int(text)
    try:
        is_pipe = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    except OSError:
        is_pipe = False
    if not is_pipe:
        return f"the life line (descriptor {descriptor}) was not inherited"
    os.set_inheritable(descriptor, False)
    threading.Thread(target=_wait, args=(descriptor,), daemon=True, name="life line").start()
    return None


def _wait(descriptor: int) -> None:
    while os.read(descriptor, 1):
        pass
    os._exit(EXIT_STATUS)  # no clean-up: whatever this process was writing has no final name yet
