"""The kernel table of a trace: durations by kernel, or by kernel, operator and input shapes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..columnar import Names, joined, uncollected
from ..columnar.table import Table, grouped
from ..errors import EvidenceError
from ..names import demangle
from .attribution import launching_calls, owners
from .columns import KINDS, TOGETHER, read_columns
from .events import Bare
from .stream import CHUNK_BYTES, NEXT, Stream
from .times import column_of_ns


@dataclass(frozen=True)
class KernelTable:
    """``table``: its keys are indices into ``names``; of attributed ones kernel and operator, and
    ``names`` has one list for each."""

    table: Table
    names: tuple[list[str], ...]

    def rows(self) -> list[tuple]:
        """(name, …, count, total, median, least, most, stddev), the greatest total first; times in ns."""
        width = len(self.names)
        return [
            (*(names[i] for names, i in zip(self.names, row, strict=False)), *row[width:])
            for row in self.table.rows()
        ]


def kernels(path: Path, chunk_bytes: int = CHUNK_BYTES) -> KernelTable:
    """Durations by kernel name.  Raises EvidenceError."""
    names, index, durations = Names(), [], []
    found: list[Bare] = []

    def settle() -> None:
        index.append(np.array([names[e.name] for e in found], dtype=np.int64))
        durations.append(column_of_ns([e.dur for e in found]))
        found.clear()

    try:
        with uncollected():
            for events in Stream(path, Bare, chunk_bytes):
                found += [e for e in events if e.cat == "kernel" and e.ph == "X"]
                if len(found) >= TOGETHER:
                    settle()
            settle()
    except (ValueError, OverflowError) as error:
        raise EvidenceError("an event has no usable time", where=path, found=error, next_step=NEXT) from error
    return KernelTable(grouped([joined(index)], joined(durations)), ([demangle(n) for n in names.all()],))


def attributed_kernels(path: Path, chunk_bytes: int = CHUNK_BYTES) -> KernelTable:
    """Durations by kernel name and by the operator around its launch, "" for none.  Raises EvidenceError."""
    try:
        columns = read_columns(path, chunk_bytes, detail=False)
    except (ValueError, TypeError, OverflowError) as error:
        raise EvidenceError("an event has no usable time", where=path, found=error, next_step=NEXT) from error
    operation = columns.operations
    ours = operation["level"] == KINDS.index("kernel")
    owner = owners(columns, launching_calls(columns))[ours]
    names = columns.names.all()
    operator = np.append(columns.operators["name"], len(names))[
        owner
    ]  # NOWHERE takes the last, the empty name
    table = grouped([operation["name"][ours], operator], operation["lasting"][ours])
    return KernelTable(table, ([demangle(n) for n in names], [*names, ""]))
