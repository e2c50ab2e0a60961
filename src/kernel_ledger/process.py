"""The only module that starts processes: no shell, a session of its own, a time limit, nothing left behind."""

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
    and when this process is interrupted or terminated, the command's process group gets TERM; what still
    runs 3 s later, and whatever the command left behind, is killed.  Where this process is killed itself, its
    end is noticed (see guard).  Raises MachineError if there is no such command.
    """
    words = tuple(os.fspath(word) for word in command)
    if shutil.which(words[0], path=environment.get("PATH", os.defpath)) is None:
        raise MachineError(f"there is no command {words[0]!r}", found=f"PATH={environment.get('PATH', '')}")
    started = time.monotonic()
    with terminating_raises(), _started(words, environment, cwd, pass_fds) as child:
        output, timed_out = _follow(child, started + timeout_s, log, echo)
    status = child.returncode
    return Finished(
        command=words,
        exit_status=status if status >= 0 else 128 - status,
        signal=-status if status < 0 else None,
        seconds=time.monotonic() - started,
        timed_out=timed_out,
        output=output,
    )


@contextmanager
def _started(
    words: Sequence[str], environment: Mapping[str, str], cwd: Path | None, pass_fds: Sequence[int]
) -> Iterator[subprocess.Popen]:
    """The command behind its guard; at the end neither it nor a descendant of it runs."""
    ours, theirs = os.pipe()
    child = None
    try:
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__, str(ours), *words],
            env={**environment, lifeline.VARIABLE: str(ours)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            pass_fds=(*pass_fds, ours),
            start_new_session=True,
        )
        yield child
    except BaseException:
        if child is not None:
            _ask_to_end(child)
        raise
    finally:
        os.close(ours)
        os.close(theirs)  # what is left of it ends here, also when a second Ctrl-C cut the asking short
        if child is not None:
            _see_it_end(child)


def _ask_to_end(child: subprocess.Popen) -> None:
    """TERM for the command's process group, and some time to follow it."""
    child.terminate()
    with suppress(subprocess.TimeoutExpired):
        child.wait(GRACE_S)


def _see_it_end(child: subprocess.Popen) -> None:
    """The guard ends once all else has; one that cannot (a process hangs in a driver) is left behind."""
    try:
        child.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    finally:
        child.stdout.close()


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
        while child.poll() is None and not timed_out:
            if not copy(POLL_S):
                time.sleep(POLL_S / 10)  # a child that closed its output would otherwise make this spin
            timed_out = time.monotonic() > deadline
        if timed_out:
            _ask_to_end(child)
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


@contextmanager
def terminating_raises() -> Iterator[None]:
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
