"""Run as a file: stands between a launcher and its command, and lets no process of the command live on.

``python -I -S guard.py <life line> command ...``.  The life line is the read end of a pipe that only the
launcher holds open: its end means that the launcher ended, however it did, or wants no more of this.  The
kernel gives every orphan among the descendants to this process (a subreaper), so none can hide: not in a
session of its own, as nsys starts its target, and not behind a parent that ended.

SIGTERM goes on to the command's process group.  The exit status, or the signal, is the command's own.
"""

import contextlib
import ctypes
import os
import resource
import select
import signal
import sys

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
PAUSE_S = 0.01


def main() -> None:
    line, command = int(sys.argv[1]), sys.argv[2:]
    if select.select([line], [], [], 0)[0]:  # the launcher is gone already
        sys.exit(1)
    wake, waker = os.pipe()
    for end in (wake, waker):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    child = start(command)
    signal.signal(signal.SIGTERM, lambda *_: signal_group(child, signal.SIGTERM))
    status = None
    while status is None:
        ready = select.select([line, wake], [], [])[0]
        if wake in ready:
            os.read(wake, 512)
        status = reap(child, status)
        if line in ready:
            break
    end_as(sweep(child, status))


def start(command: list[str]) -> int:
    """The command in a process group of its own; the kernel kills it if this process is killed."""
    guard = os.getpid()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and exec would hand that on
            signal.signal(number, signal.SIG_DFL)
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == guard:
            try:
                os.execvp(command[0], command)
            except OSError as error:
                os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        os._exit(127)
    with contextlib.suppress(PermissionError, ProcessLookupError):  # it was faster
        os.setpgid(child, child)
    return child


def sweep(child: int, status: int | None) -> int:
    """Kill whatever descends from here, level by level; the command's wait status.

    Only children of this process are killed: until they are waited for, no stranger can have their number.
    """
    while True:
        status = reap(child, status)
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return status or 0
        if status is None:
            signal_group(child, signal.SIGKILL)
        for pid in children():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        select.select([], [], [], PAUSE_S)


def reap(child: int, status: int | None) -> int | None:
    """Wait for all that ended; the command's wait status once it did."""
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, found = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            status = found if pid == child else status
    return status


def children() -> list[int]:
    """Processes whose parent is this one (where there is no /proc: none that can be named)."""
    found, mine = [], str(os.getpid()).encode()
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        with contextlib.suppress(OSError):
            if name.isdigit():
                with open(f"/proc/{name}/stat", "rb") as stream:
                    if stream.read().rpartition(b")")[2].split()[1] == mine:
                        found.append(int(name))
    return found


def signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def end_as(status: int) -> None:
    """End as the command did, without a core file of this process."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main()
