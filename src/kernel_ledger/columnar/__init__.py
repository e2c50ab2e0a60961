"""Columns in numpy arrays, of either tool's recording: times in int64 ns, names as indices into a list.

``NONE`` stands for "not recorded" where a column has no better way to say it; it is no value that a tool writes.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

NONE = np.iinfo(np.int64).min
Column = np.ndarray
"""One-dimensional int64."""


def column(values: object = ()) -> Column:
    return np.asarray(values, dtype=np.int64)


def joined(parts: list[Column]) -> Column:
    return np.concatenate(parts) if parts else column()


class Names(dict):
    """Values by index, each held once: ``names[value]`` gives a new value the next index."""

    def __missing__(self, value: object) -> int:
        index = self[value] = len(self)
        return index

    def all(self) -> list:
        return list(self)


@contextmanager
def uncollected() -> Iterator[None]:
    """No search for cycles: among millions of short-lived events, which have none, it is a fifth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
