"""Run as a file: ask the kernel to kill this process when its launcher dies, then become the command.

``python -I -S guard.py <launcher pid> command ...``.  A function between fork and exec (preexec_fn) would
do the same, but is unsafe beside the launcher's sampler thread.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    launcher, command = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != launcher:  # it died before the line above
        sys.exit(1)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
