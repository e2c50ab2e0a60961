"""What each tool recorded of a case, as slices: host ranges, operators and CUDA calls, and GPU work."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from .. import kineto
from ..nsys.database import Reader, connect, read_sqlite
from ..ranks.split import belongs_to, first_rank, recorded_beside
from .slices import Slice, gpu_slice

HOST = {
    "user_annotation": "range",
    "cpu_op": "operator",
    "python_function": "python",
    "cuda_runtime": "CUDA API",
    "cuda_driver": "CUDA API",
}
OVERHEAD = "overhead of the profiler"


class Threads:
    """Names for host threads, in the order in which they are met: ids differ from process to process."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}

    def name(self, thread: Hashable) -> str:
        return f"host thread {self.numbers.setdefault(thread, len(self.numbers) + 1)}"


def torch_slices(path: Path, announced: Collection[str]) -> list[Slice]:
    """One variant's trace.  Raises EvidenceError where it cannot be read."""
    events = kineto.decode(path).traceEvents
    book = kineto.read(path, announced)
    threads = Threads()
    host = [
        host_slice(event, threads)
        for event in sorted(events, key=lambda e: kineto.nanoseconds(e.ts) or 0)
        if (event.cat in HOST or event.cat == "overhead") and kineto.nanoseconds(event.ts) is not None
    ]
    return tied(host, map(gpu_slice, book.ops))


def host_slice(event: kineto.Event, threads: Threads) -> Slice:
    start, duration = kineto.nanoseconds(event.ts), kineto.nanoseconds(event.dur)
    api = event.cat in kineto.LAUNCHES
    shapes = kineto.shapes(event.args.input_dims if event.args else b"")
    return Slice(
        start=start,
        end=None if duration is None else start + duration,
        name=event.name,
        category=HOST.get(event.cat, event.cat),
        track=threads.name(event.tid) if event.cat in HOST else OVERHEAD,
        place=start,
        flow=event.args.correlation if api and event.args else None,
        arguments=(("input shapes", shapes),) if shapes else (),
    )


def nsys_slices(path: Path, announced: Collection[str]) -> list[Slice]:
    """The export of the nsys pass, all variants; of a group, rank 0.  Raises EvidenceError where it cannot be read."""
    export, mine = read_sqlite(path), belongs_to(recorded_beside(path), 0)
    book = first_rank(path, announced)
    with closing(connect(path)) as connection:
        calls, _ = Reader(connection, path).calls()
    threads = Threads()
    host: list[Slice] = []
    for row in (row for row in export.ranges or () if mine(row.thread)):
        domain = (("domain", row.domain),) if row.domain else ()
        host.append(Slice(row.start, row.end, row.name, "range", row.thread, row.start, None, domain))
    for (process, correlation), call in sorted(calls.items(), key=lambda item: (item[1].start, item[0][1])):
        if not mine(process):
            continue
        host.append(Slice(call.start, call.end, call.name, "CUDA API", call.thread, call.start, correlation))
    return tied(named(host, threads), map(gpu_slice, book.ops))


def tied(host: Iterable[Slice], gpu: Iterable[Slice]) -> list[Slice]:
    """Both, with no flow left on a call that started no GPU work."""
    gpu = list(gpu)
    started = {one.flow for one in gpu}
    return [*(one if one.flow in started else replace(one, flow=None) for one in host), *gpu]


def named(host: Iterable[Slice], threads: Threads) -> list[Slice]:
    """Host slices, whose track is a thread's id so far, with the thread's name."""
    return [replace(one, track=threads.name(one.track)) for one in sorted(host, key=lambda s: s.start)]
