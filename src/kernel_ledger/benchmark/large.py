"""Measures reading large captures, ours and others', in one run on one machine."""

from __future__ import annotations

import csv
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from ..errors import MachineError
from ..nsys.find import find
from ..nsys.tables import COLUMNS
from ..process import run
from .bars import LARGE, SMALL, Key, M
from .measure import Measurement, measure

RUNS = 3
SEED = 2026
EVENTS_A_CALL = 5  # of the operator that is profiled, as torch 2.13 counts them
MANY = ", 64 threads"
SUFFIX = {"traces": ".json", "exports": ".sqlite", "whole": ""}  # the last is a folder of captures


def generate(folder: Path, kind: str, size: int, threads: int = 1) -> Path:
    """A capture, written by a process of its own, since memory that this one took would count in its children's."""
    path = folder / f"{kind}-{size}-{threads}{SUFFIX[kind]}"
    command = [
        sys.executable,
        "-m",
        f"kernel_ledger.benchmark.{kind}",
        str(path),
        str(size),
        str(threads),
        str(SEED),
    ]
    measure(f"generate {path.name}", size, command, 1, folder)
    return path


def ours(folder: Path, what: str, size: int, file: Path, label: str = "", runs: int = RUNS) -> Measurement:
    command = [sys.executable, "-m", "kernel_ledger.benchmark.readers", what, str(file)]
    return measure(what + label, size, command, runs, folder)


def peer(folder: Path, python: Path, what: str, size: int, file: str, runs: int = RUNS) -> Measurement:
    return measure(
        what, size, [str(python), str(Path(__file__).with_name("peers.py")), what, file], runs, folder
    )


def nsys_stats(
    folder: Path, nsys: Path, report: str, size: int, file: Path, label: str = "", runs: int = RUNS
) -> Measurement:
    for old in folder.glob("stats_*"):
        old.unlink()
    output = folder / "stats"
    command = [str(nsys), "stats", "--report", report, "--format", "csv", "--output", str(output),
               "--force-overwrite=true", str(file)]  # fmt: skip
    made = measure(report + label, size, command, runs, folder)
    return replace(made, answer=sums(folder / f"stats_{report}.csv"))


def sums(path: Path) -> dict[str, int]:
    """How many kernels a CSV of the tool has in all, and their ns."""
    count = next(
        (c for c in ("Kern Inst", "Instances") if c in COLUMNS[path.name.removeprefix("stats_")]), None
    )
    if count is None:
        return {}
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    return {
        "kernels": sum(int(r[count]) for r in rows),
        "total_ns": sum(int(r["Total Time (ns)"]) for r in rows),
    }


def measurements(folder: Path, peers: Path | None, nsys: Path | None, torch: bool) -> Iterator[Measurement]:
    """All measurements, the cheap ones first; captures are removed as soon as they are read."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for size in (SMALL, M, LARGE):
        file = generate(folder, "traces", size)
        for what in ("kineto_table", "kineto_attributed"):
            yield ours(folder, what, size, file)
        if size == M:
            yield ours(folder, "kineto_book", size, file, runs=1)
        if size == M and peers:
            yield peer(folder, peers, "hta", size, str(file), runs=2)
            yield peer(folder, peers, "pandas", size, str(file), runs=1)
            for what in ("kineto_table", "kineto_attributed"):
                yield ours(folder, what, size, file)
        file.unlink()
    if torch:
        yield peer(folder, Path(sys.executable), "key_averages", SMALL, str(SMALL // EVENTS_A_CALL), runs=1)
    for size in (SMALL, M, LARGE):
        file = generate(folder, "exports", size)
        for what in ("nsys_table", "nsys_by_range"):
            yield ours(folder, what, size, file, runs=RUNS if size < LARGE else 2)
        if nsys and size == M:
            yield nsys_stats(folder, nsys, "cuda_gpu_kern_sum", size, file)
            yield nsys_stats(folder, nsys, "nvtx_kern_sum", size, file, runs=2)
            yield nsys_stats(folder, nsys, "nvtx_gpu_proj_sum", size, file, runs=1)
            yield ours(folder, "nsys_projection", size, file, runs=1)
            for what in ("nsys_table", "nsys_by_range"):
                yield ours(folder, what, size, file)
        file.unlink()
    file = generate(folder, "exports", SMALL, threads=64)
    yield ours(folder, "nsys_by_range", SMALL, file, MANY)
    if nsys:
        yield nsys_stats(folder, nsys, "nvtx_kern_sum", SMALL, file, MANY)
        yield ours(folder, "nsys_by_range", SMALL, file, MANY)
    file.unlink()
    yield from whole_runs(folder)


def whole_runs(folder: Path) -> Iterator[Measurement]:
    """The rule reconcile on runs with as many kernels in each book, beside the kernel tables of their files."""
    folder.mkdir(parents=True, exist_ok=True)
    for size in (SMALL, M):
        captures = generate(folder, "whole", size)
        for what in ("run_tables", "run_reconciled"):
            yield ours(folder, what, size, captures, runs=RUNS if size < M else 2)
        shutil.rmtree(captures)


def present_nsys() -> Path | None:
    """The newest nsys below tools/, else the one that a run would find, else None."""
    own = sorted(Path("tools/nsys").glob("*/bin/nsys"), reverse=True)
    if own:
        return own[0].resolve()
    try:
        return find(None, os.environ).path
    except MachineError:
        return None


def versions(peers: Path | None, nsys: Path | None) -> dict[str, str]:
    """Versions of what ours is compared with."""
    found = {}
    if peers:
        code = "import importlib.metadata as m; print(*(f'{n} {m.version(n)}' for n in ('HolisticTraceAnalysis', 'pandas')))"
        words = run([str(peers), "-c", code], environment=os.environ, timeout_s=60).output.split()
        found |= dict(zip(words[::2], words[1::2], strict=True))
    if nsys:
        found["nsys"] = run([str(nsys), "--version"], environment=os.environ, timeout_s=60).output.split()[-1]
    return found


def both(one: Measurement, other: Measurement) -> Measurement:
    """Two rounds of one measurement: ours run before and after the peer, since a machine's load drifts."""
    best = min(one, other, key=lambda m: m.seconds)
    return replace(best, peak_mb=max(one.peak_mb, other.peak_mb), runs=one.runs + other.runs)


def collect(source: Iterator[Measurement], say: Callable[[str], None]) -> dict[Key, Measurement]:
    """Measurements by what and size; each is told as it comes."""
    found = {}
    for one in source:
        before = found.get((one.what, one.size))
        found[one.what, one.size] = one if before is None else both(before, one)
        say(
            f"{one.what:28} {one.size:>9,}  {one.seconds:8.2f} s  process {one.process_s:7.2f} s  {one.peak_mb:7.0f} MB"
        )
    return found
