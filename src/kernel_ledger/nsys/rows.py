"""What the SQLite export of an nsys report holds, as plain rows.

All times are integer nanoseconds on the report's own clock, as recorded: a reversed or negative one is
kept for the structure check to find.  ``process`` and ``thread`` are nsys's serialized ids (globalPid,
globalTid); two records belong together only if these are equal too.  A table that the export does not
have is None, never an empty tuple: what was not recorded is not "none happened".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Three = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Call:
    """A CUDA API call that launched GPU work."""

    name: str
    start: int
    end: int
    thread: int | None


@dataclass(frozen=True, slots=True)
class KernelRow:
    """One kernel launch.  ``symbol``: mangled, None where the recorder did not keep it; ``call``: the API
    call with its correlation id, None where there is none; ``range_path``: names of the push/pop ranges
    on the calling thread around that call's start, outermost first."""

    start: int
    end: int
    device: int
    context: int
    stream: int
    correlation: int | None
    process: int | None
    symbol: str | None
    demangled: str
    short: str
    grid: Three
    block: Three
    graph_node: int | None
    call: Call | None
    range_path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """One memcpy or memset.  ``kind``: "Memcpy Device-to-Device", "Memset", …; ``call`` and
    ``range_path`` as for a kernel."""

    kind: str
    start: int
    end: int
    device: int
    context: int
    stream: int
    correlation: int | None
    process: int | None
    bytes: int
    graph_node: int | None
    call: Call | None
    range_path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RangeRow:
    """One NVTX range.  ``domain`` None: the default domain; ``end`` None: never closed in the recording;
    ``style``: "pushpop" or "startend"."""

    name: str
    domain: str | None
    start: int
    end: int | None
    thread: int
    style: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A message of nsys about its own recording; ``severity``: "Info", "Warning", "Error", …"""

    severity: str
    source: str
    text: str


@dataclass(frozen=True, slots=True)
class Gpu:
    """``uuid`` as nsys writes it: without NVML's "GPU-" in front."""

    name: str
    uuid: str
    bus: str


@dataclass(frozen=True)
class NsysBook:
    """Everything of one export that the ledger uses.

    ``calls``: (process, correlation id) -> number of API records with it.  ``graph_launches``: CUDA graphs
    recorded as one block each, without their kernels.  ``export``: META_DATA_EXPORT.  ``environment``: the
    variables of the recorded process that are stored in the file.  ``launching``: (process, correlation id) of the
    calls that launch kernels or graphs: each must have left a record.
    """

    kernels: tuple[KernelRow, ...] | None
    memory: tuple[MemoryRow, ...] | None
    ranges: tuple[RangeRow, ...] | None
    calls: Mapping[tuple[int, int], int] | None
    graph_launches: int | None
    diagnostics: tuple[Diagnostic, ...] | None
    gpus: tuple[Gpu, ...] | None
    driver: str | None
    export: Mapping[str, str]
    environment: Mapping[str, str]
    launching: frozenset[tuple[int | None, int | None]]

    @property
    def exporter_version(self) -> str | None:
        """EXPORT_PRODUCT_VERSION: a product version, which can differ from what `nsys --version` says."""
        return self.export.get("EXPORT_PRODUCT_VERSION")
