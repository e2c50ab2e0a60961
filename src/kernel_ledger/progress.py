"""A progress bar with an estimate for a step that lasts more than five seconds; on a terminal, and never in a log.

A rule's script writes into the rule's log, so that Snakemake, where it has a terminal, names it to its scripts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager, nullcontext, suppress
from typing import BinaryIO, TextIO

from tqdm import tqdm

DELAY_S = 5
TERMINAL = "KERNEL_LEDGER_TERMINAL"  # its path


@contextmanager
def progress(what: str, total: int | None, unit: str = "B") -> Iterator[tqdm]:
    """A bar that shows itself after DELAY_S.  ``total``: how much there is to do, None where nobody knows."""
    with terminal() as stream:
        bar = tqdm(
            total=total,
            desc=what,
            unit=unit,
            unit_scale=True,
            delay=DELAY_S,
            leave=False,
            file=stream,
            disable=None,  # where this is no terminal
        )
        with bar:
            yield bar


@contextmanager
def terminal() -> Iterator[TextIO]:
    """Where a bar is drawn: standard error, or Snakemake's terminal where that is a log."""
    path = None if sys.stderr.isatty() else os.environ.get(TERMINAL)
    stream = None
    if path:
        with suppress(OSError):  # the terminal was closed
            stream = open(path, "w")  # noqa: SIM115
    with stream or nullcontext():
        yield stream or sys.stderr


def name_terminal(environ: MutableMapping[str, str]) -> None:
    """Tell the scripts that this process starts where its own terminal is, if it has one."""
    environ.pop(TERMINAL, None)
    if sys.stderr.isatty():
        environ[TERMINAL] = os.ttyname(sys.stderr.fileno())


class Counted:
    """A stream whose reads move a bar on."""

    def __init__(self, stream: BinaryIO, bar: tqdm) -> None:
        self.stream, self.bar = stream, bar

    def read(self, size: int = -1) -> bytes:
        data = self.stream.read(size)
        self.bar.update(len(data))
        return data
