"""What orchestration adds: the wall time of a whole run beside the time of its measured processes."""

from __future__ import annotations

import csv
import io
import os
import shutil
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .. import process
from ..errors import LedgerError
from ..files import read_json, write_json, write_text
from ..plan_file import CONTROL
from .bars import Bar
from .jobs import rule_seconds

RUN = "benchmark-run"
LIMIT_S = 3600
MEASURING = ("numerics", "timing", "torch_pass", "nsys_pass", "collision_control")
SHARE_PCT, SECOND_RUN_S = 15.0, 3.0  # at most
COLUMNS = ("what", "seconds", "meaning")


@dataclass(frozen=True)
class Figure:
    what: str
    seconds: float
    meaning: str


def measured_seconds(captures: Path) -> float:
    """Seconds of all measured processes of a run, start of the interpreter included, from their records."""
    records = [read_json(path) for path in sorted(captures.rglob("run.json"))]
    records += [read_json(path)["run"] for path in sorted(captures.rglob("numerics.json"))]
    records += [read_json(path) for path in sorted(captures.glob(CONTROL))]  # a torch pass, under nsys
    return sum(record["seconds"] for record in records if "absent" not in record)


def timed(arguments: Iterable[str]) -> float:
    """Wall seconds of one snakemake, started afresh.  Raises LedgerError where it fails."""
    command = [sys.executable, "-m", "snakemake", *arguments]
    done = process.run(command, environment=os.environ, timeout_s=LIMIT_S, echo=True)
    if done.exit_status != 0:
        raise LedgerError("the run that was to be timed failed", found=done.last_lines(20))
    return done.seconds


def orchestration(device: str, settings: Iterable[str]) -> list[Figure]:
    """Time a run from nothing, a run that has nothing to do, and a dry run of everything."""
    for folder in (Path("reports") / RUN, Path("logs") / RUN, Path("build") / device):
        shutil.rmtree(folder, ignore_errors=True)
    config = ["--cores", "1", "--config", f"run={RUN}", f"device={device}", *settings]
    began = time.time()
    wall = timed(config)
    jobs = rule_seconds(began)
    passes = measured_seconds(Path("reports") / RUN / "captures")
    build = read_json(Path("build") / device / "build.json")["seconds"]
    return [
        Figure("run", wall, "snakemake --cores 1, from an empty build folder to the verdict"),
        Figure("passes", passes, "all measured processes, each with its interpreter and its imports"),
        Figure("build", build, "compiling the extension from nothing"),
        Figure("added", wall - passes, added(wall, passes, build)),
        Figure(
            "launchers",
            sum(jobs.get(r, 0) for r in MEASURING) - passes,
            "locks, looks at the GPU, records, hashes",
        ),
        *(Figure(f"rule {rule}", seconds, "its jobs, scripts included") for rule, seconds in jobs.items()),
        Figure("between jobs", wall - sum(jobs.values()), "Snakemake: its start, its plan, from job to job"),
        Figure("second run", timed(config), "the same command with nothing to do"),
        Figure(
            "dry run", timed(["--dry-run", "--forceall", *config]), "snakemake --dry-run of the whole study"
        ),
    ]


def judged(figures: Iterable[Figure]) -> list[Bar]:
    """The bars of a default run on a GPU; on the CPU its passes are too short for a share to mean anything."""
    seconds = {figure.what: figure.seconds for figure in figures}
    share = 100 * seconds["added"] / seconds["run"]
    return [
        Bar("a run from nothing: % of it that no measured process took", share, "<=", SHARE_PCT),
        Bar("a second run that has nothing to do: s", seconds["second run"], "<=", SECOND_RUN_S),
    ]


def added(wall: float, passes: float, build: float) -> str:
    """What the figure `added` is, and which share of the run."""
    share, later = 100 * (wall - passes) / wall, 100 * (wall - passes - build) / (wall - build)
    return (
        "run less passes: build, export, reconciliation, launchers, Snakemake: "
        f"{share:.1f} % of the run, {later:.1f} % where the build is there"
    )


def write(folder: Path, figures: Iterable[Figure], machine: Mapping[str, object]) -> None:
    """orchestration.csv and orchestration.json, the machine."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows((f.what, f"{f.seconds:.3f}", f.meaning) for f in figures)
    write_text(folder / "orchestration.csv", stream.getvalue())
    write_json(folder / "orchestration.json", machine)


def machine() -> dict[str, object]:
    """Where the figures were taken, from the run's own records."""
    path = min(Path("reports", RUN, "captures").rglob("run.json"))
    record = read_json(path)
    return {"format": 1, "gpu": record["gpu"], "versions": record["versions"], "cpus": os.cpu_count()}
