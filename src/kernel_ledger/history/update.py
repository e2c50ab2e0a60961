"""Brings reports/history/ up to date with the runs beside it: new ones are added, changed ones replaced, none forgotten."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from ..errors import EvidenceError
from ..files import write_text
from . import dataset
from .facts import run_rows
from .picture import picture
from .trend import Trend, sentence, trends

BATCH = 500  # runs read at a time, so that ten thousand do not lie in memory at once


@dataclass(frozen=True)
class Updated:
    """``added``: runs that were read; ``skipped``: run -> why it was not; ``total``: runs in the dataset."""

    added: tuple[str, ...]
    skipped: dict[str, str]
    total: int


def update(reports: Path, folder: Path, *, rebuild: bool = False) -> Updated:
    """Read the runs in ``reports`` that the dataset in ``folder`` lacks or has otherwise.

    ``rebuild``: forget the dataset first, and with it runs whose folders are gone.
    """
    runs = folder / "runs"
    if rebuild:
        shutil.rmtree(runs, ignore_errors=True)
    runs.mkdir(parents=True, exist_ok=True)
    dataset.check(runs)
    dataset.mend(runs)
    known, skipped, added, rows, changed = dataset.known_runs(runs), {}, [], [], []
    for place in sorted(path.parent for path in reports.glob("*/results.csv")):
        if place.name in known and known[place.name] == dataset.table_digest(place):
            continue
        try:
            rows += run_rows(place)
        except (EvidenceError, KeyError, ValueError, TypeError) as error:
            skipped[place.name] = str(error).splitlines()[0]
            continue
        added.append(place.name)
        changed += [place.name] if place.name in known else []
        if len(added) % BATCH == 0:
            rows = appended(runs, rows, changed)
    appended(runs, rows, changed)
    return Updated(tuple(added), skipped, len(dataset.known_runs(runs)))


def appended(runs: Path, rows: list[dict], changed: list[str]) -> list[dict]:
    """Write what was gathered; an empty list to gather in."""
    if changed:
        dataset.drop(runs, changed)
        changed.clear()
    dataset.append(runs, rows)
    return []


def draw(folder: Path, last: int) -> list[Trend]:
    """A picture for each case on each machine, and changes.txt; the trends that were drawn."""
    if not dataset.parts(folder / "runs"):
        return []
    found = list(trends(dataset.series(folder / "runs")))
    by_case = sorted(found, key=lambda t: (t.workload, t.case, t.machine, t.variant))
    for (workload, case, machine), own in groupby(by_case, lambda t: (t.workload, t.case, t.machine)):
        name = "-".join(
            [
                "".join(c if c.isalnum() or c in "._" else "_" for c in part)
                for part in (workload, case, machine)
            ]
        )
        write_text(folder / f"{name}.svg", picture(list(own), last))
    told = [sentence(trend, change) for trend in found for change in trend.changes]
    write_text(folder / "changes.txt", "".join(f"{line}\n" for line in told))
    return found
