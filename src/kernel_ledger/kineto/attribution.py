"""Which call launched an operation, and which operator stood around that call."""

from __future__ import annotations

import numpy as np

from ..columnar import Column
from ..columnar.nesting import NOWHERE, innermost_by_group
from .columns import Columns


def launching_calls(columns: Columns) -> Column:
    """For each operation the index of the call with its correlation id, the last one of several, or NOWHERE."""
    known, wanted = columns.calls["correlation"], columns.operations["correlation"]
    if not len(known):
        return np.full(len(wanted), NOWHERE, dtype=np.int64)
    rank = np.argsort(known, kind="stable")
    at = np.searchsorted(known[rank], wanted, side="right") - 1
    found = rank[np.maximum(at, 0)]
    return np.where((at >= 0) & (known[found] == wanted), found, NOWHERE)


def owners(columns: Columns, calls: Column) -> Column:
    """For each operation the index of the innermost operator around its call's start, on that call's thread.

    ``calls``: of each operation, as launching_calls gives them.
    """
    launched, operators = np.flatnonzero(calls >= 0), columns.operators
    start, thread = columns.calls["start"][calls[launched]], columns.calls["thread"][calls[launched]]
    found = np.full(len(calls), NOWHERE, dtype=np.int64)
    found[launched] = innermost_by_group(
        operators["thread"], operators["start"], operators["end"], thread, start
    )
    return found


def doubled(columns: Columns) -> list[tuple[int, int]]:
    """(correlation, how many launching calls share it), where several do, in the order of the file."""
    values, first, count = np.unique(columns.calls["correlation"], return_index=True, return_counts=True)
    several = sorted(np.flatnonzero(count > 1).tolist(), key=lambda i: first[i])
    return [(int(values[i]), int(count[i])) for i in several]
