"""The only module that starts processes: no shell, a session of its own, a time limit, and nothing left."""

from __future__ import annotations

import codecs
import os
import selectors
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from . import guard, lifeline
from .errors import MachineError

GRACE_S = 3.0
POLL_S = 0.05
READ_BYTES = 1 << 16


@dataclass(frozen=True)
class Finished:
    """A process that ended.  ``exit_status`` is what a shell would show (128 + signal for a signal);
    ``signal`` its number or None; ``output`` standard output and error, merged."""

    command: tuple[str, ...]
    exit_status: int
    signal: int | None
    seconds: float
    timed_out: bool
    output: str

    def last_lines(self, count: int = 15) -> str:
        """The end of what it printed, for an error message."""
        return "\n".join(self.output.splitlines()[-count:])


def run(
    command: Sequence[str | os.PathLike[str]],
    *,
    environment: Mapping[str, str],
    log: Path | None = None,
    timeout_s: float,
    cwd: Path | None = None,
    pass_fds: Sequence[int] = (),
    echo: bool = False,
) -> Finished:
    """Run a command to its end with exactly this environment (and the life line's variable).

    Output goes to ``log`` as it comes and, with ``echo``, to standard error.  Past ``timeout_s`` seconds,
    and when this process is interrupted or terminated, the whole process group gets TERM, then KILL.
    Raises MachineError if there is no such command.  Call it from a thread that outlives the command: the
    kernel's parent-death signal is bound to the thread.
    """
    words = tuple(os.fspath(word) for word in command)
    if shutil.which(words[0], path=environment.get("PATH", os.defpath)) is None:
        raise MachineError(f"there is no command {words[0]!r}", found=f"PATH={environment.get('PATH', '')}")
    started = time.monotonic()
    ours, theirs = os.pipe()
    with _terminating_raises():
        try:
            child = subprocess.Popen(
                [sys.executable, "-I", "-S", guard.__file__, str(os.getpid()), *words],
                env={**environment, lifeline.VARIABLE: str(ours)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                pass_fds=(*pass_fds, ours),
                start_new_session=True,
            )
            os.close(ours)
            ours = -1
            try:
                output, timed_out = _follow(child, started + timeout_s, log, echo)
            finally:
                _end_group(child)
        finally:
            if ours >= 0:
                os.close(ours)
            os.close(theirs)  # descendants in other sessions end here
    status = child.returncode
    return Finished(
        command=words,
        exit_status=status if status >= 0 else 128 - status,
        signal=-status if status < 0 else None,
        seconds=time.monotonic() - started,
        timed_out=timed_out,
        output=output,
    )


def _follow(child: subprocess.Popen, deadline: float, log: Path | None, echo: bool) -> tuple[str, bool]:
    """Copy the child's output until it ends; whether it ran past the deadline (monotonic seconds)."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    parts: list[str] = []
    with _open_log(log) as sink, selectors.DefaultSelector() as selector:
        os.set_blocking(child.stdout.fileno(), False)
        selector.register(child.stdout, selectors.EVENT_READ)

        def copy(timeout: float) -> bool:
            if not selector.select(timeout):
                return False
            data = os.read(child.stdout.fileno(), READ_BYTES)
            text = decoder.decode(data, final=not data)
            parts.append(text)
            if sink:
                sink.write(data)
            if echo and text:
                sys.stderr.write(text)
                sys.stderr.flush()
            return bool(data)

        timed_out = False
        while not _has_ended(child) and not timed_out:
            if not copy(POLL_S):
                time.sleep(POLL_S / 10)  # a child that closed its output would otherwise make this spin
            timed_out = time.monotonic() > deadline
        if timed_out:
            _end_group(child)
        while copy(0):
            pass
    return "".join(parts), timed_out


@contextmanager
def _open_log(log: Path | None) -> Iterator:
    if log is None:
        yield None
        return
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab", buffering=0) as sink:
        yield sink


def _has_ended(child: subprocess.Popen) -> bool:
    """Whether the child ended, without reaping it: its number stays ours until the group is gone."""
    if child.returncode is not None:
        return True
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end_group(child: subprocess.Popen) -> None:
    """TERM, wait, KILL the child's process group (its leftovers too), then reap the child."""
    if child.returncode is not None:
        return
    try:
        if not _has_ended(child):
            _signal_group(child, signal.SIGTERM)
            deadline = time.monotonic() + GRACE_S
            while not _has_ended(child) and time.monotonic() < deadline:
                time.sleep(POLL_S)
    finally:  # also when a second Ctrl-C interrupts the wait
        _signal_group(child, signal.SIGKILL)
        child.wait()


def _signal_group(child: subprocess.Popen, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # gone, or only a zombie is left (macOS says EPERM)
        os.killpg(child.pid, number)


@contextmanager
def _terminating_raises() -> Iterator[None]:
    """Within it SIGTERM and SIGHUP unwind the stack as Ctrl-C does; the exit status is 128 + signal."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
