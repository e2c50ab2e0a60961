"""Whether exporting beside a pass disturbs it: the same study twice, one job at a time and with a second core for exports."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from ..reconcile import read_table
from .orchestration import Figure, timed

RUNS = ("benchmark-alone", "benchmark-beside")
CORES = (1, 2)
COLUMNS = ("event_median_ns", "torch_median_ns", "nsys_median_ns")
KEY = ("workload", "case", "variant", "level", "name")


def beside(device: str, settings: Iterable[str]) -> list[Figure]:
    """Wall time of both runs, and by how much the medians of the second differ (% in the column of seconds).

    One GPU is used in both, so that passes still follow each other; the build is made before.
    """
    figures, tables = [], []
    for run, cores in zip(RUNS, CORES, strict=True):
        for folder in (Path("reports") / run, Path("logs") / run):
            shutil.rmtree(folder, ignore_errors=True)
        began = time.monotonic()
        timed(["--cores", str(cores), "--config", f"run={run}", f"device={device}", *settings])
        figures.append(Figure(run, time.monotonic() - began, f"snakemake --cores {cores}"))
        tables.append(read_table(Path("reports") / run / "results.csv"))
    for column in COLUMNS:
        found = differences(*tables, column)
        if found:
            told = f"% of {column}, median over {len(found)} rows; greatest {max(found, key=abs):+.2f} %"
            figures.append(Figure("change", median(map(abs, found)), told))
    return figures


def differences(alone: list[Mapping[str, Any]], beside: list[Mapping[str, Any]], column: str) -> list[float]:
    """100 x (beside / alone - 1) of each row that both tables have a value for."""
    before = {tuple(row[k] for k in KEY): row[column] for row in alone}
    pairs = [(before.get(tuple(row[k] for k in KEY)), row[column]) for row in beside]
    return [100 * (new / old - 1) for old, new in pairs if old not in (None, "", 0) and new not in (None, "")]
