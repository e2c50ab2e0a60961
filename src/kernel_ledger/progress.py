"""A progress bar with an estimate for a step that lasts more than five seconds; on a terminal, and never in a log."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from tqdm import tqdm

DELAY_S = 5


@contextmanager
def progress(what: str, total: int | None, unit: str = "B") -> Iterator[tqdm]:
    """A bar that shows itself after DELAY_S.  ``total``: how much there is to do, None where nobody knows."""
    bar = tqdm(
        total=total,
        desc=what,
        unit=unit,
        unit_scale=True,
        delay=DELAY_S,
        leave=False,
        file=sys.stderr,
        disable=None,  # where standard error is no terminal
    )
    with bar:
        yield bar


class Counted:
    """A stream whose reads move a bar on."""

    def __init__(self, stream: BinaryIO, bar: tqdm) -> None:
        self.stream, self.bar = stream, bar

    def read(self, size: int = -1) -> bytes:
        data = self.stream.read(size)
        self.bar.update(len(data))
        return data
