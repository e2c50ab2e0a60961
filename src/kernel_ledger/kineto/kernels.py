"""The kernel table of a trace: durations by kernel, or by kernel, operator and input shapes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..columnar import Names, joined
from ..columnar.table import Table, grouped
from ..errors import EvidenceError
from ..names import demangle
from .attribution import launching_calls, owners
from .columns import KINDS, read_columns, shapes
from .events import Bare
from .stream import CHUNK_BYTES, NEXT, Stream
from .times import column_of_ns


@dataclass(frozen=True)
class KernelTable:
    """``table``: its keys are indices into ``names``; of attributed ones kernel, operator and shapes, and
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
    try:
        for events in Stream(path, Bare, chunk_bytes):
            found = [e for e in events if e.cat == "kernel" and e.ph == "X"]
            index.append(np.array([names(e.name) for e in found], dtype=np.int64))
            durations.append(column_of_ns([e.dur for e in found]))
    except (ValueError, OverflowError) as error:
        raise EvidenceError("an event has no usable time", where=path, found=error, next_step=NEXT) from error
    return KernelTable(grouped([joined(index)], joined(durations)), ([demangle(n) for n in names.all()],))


def attributed_kernels(path: Path, chunk_bytes: int = CHUNK_BYTES) -> KernelTable:
    """Durations by kernel name, operator and the operator's input shapes.  Raises EvidenceError."""
    try:
        columns = read_columns(path, chunk_bytes)
    except (ValueError, TypeError, OverflowError) as error:
        raise EvidenceError("an event has no usable time", where=path, found=error, next_step=NEXT) from error
    ours = columns.operations["level"] == KINDS.index("kernel")
    owner = owners(columns, launching_calls(columns))[ours]
    operation = columns.operations
    names, texts = [demangle(n) for n in columns.names.all()], columns.texts.all()
    keys = [operation["name"][ours]]
    for key, last in (("name", len(names)), ("shapes", len(texts))):
        values = np.append(columns.operators[key], last)  # of no operator: the last name, which is empty
        keys.append(values[owner])
    table = grouped(keys, (operation["end"] - operation["start"])[ours])
    return KernelTable(table, (names, [*names, ""], [*map(shapes, texts), ""]))
