"""What a run adds to the history: the rows of its table, each with when, where and from which commit it was measured."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from math import comb
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..columns import COLUMNS
from ..errors import EvidenceError
from ..files import read_json, sha256
from ..parquet import field
from ..reconcile.table import parse
from ..repeats import PREFIX

CONFIDENCE = 0.95
ABOUT_RUN = (
    (
        "measured_at",
        pa.string(),
        "UTC, ISO 8601, of the earliest timed process; empty in runs that did not record it",
    ),
    ("machine", pa.string(), "model of the GPU, or cpu"),
    ("gpu_uuid", pa.string(), "which one it was"),
    ("driver", pa.string(), "version of its driver"),
    ("torch", pa.string(), "version of PyTorch"),
    ("commit", pa.string(), "Git commit of the measuring checkout; -dirty where it had changes"),
    ("verdict", pa.string(), "verified, refuted or unverifiable"),
    ("table_sha256", pa.string(), "of results.csv"),
)
OF_SAMPLES = (
    (
        "event_low_ns",
        pa.float64(),
        f"least median that the samples allow, {CONFIDENCE:.0%}, by order statistics",
    ),
    ("event_high_ns", pa.float64(), "greatest"),
)


def schema() -> pa.Schema:
    """Columns of the dataset: the run, what is known of it, its table's columns, the interval of block times."""
    own = [
        pa.field(name, kind, metadata={"description": text}) for name, kind, text in (*ABOUT_RUN, *OF_SAMPLES)
    ]
    run, *rest = [field(column) for column in COLUMNS]
    return pa.schema([run, *own[: len(ABOUT_RUN)], *rest, *own[len(ABOUT_RUN) :]])


def run_rows(folder: Path) -> list[dict[str, Any]]:
    """The rows of one run's folder.  Raises EvidenceError where there is no table, verdict or plan.

    A table of an older or newer version lacks columns, or has some that are not known here: those stay out.
    """
    verdict, table = read_json(folder / "verdict.json", format=1), folder / "results.csv"
    if verdict.get("replay_of"):
        raise EvidenceError(
            "a replay measured nothing: the run that it read is in the history itself", where=table
        )
    digest = sha256(table) if table.is_file() else None
    if digest is None or verdict.get("files", {}).get("results.csv", digest) != digest:
        raise EvidenceError("this run has no table, or not the one that was judged", where=table)
    records = list(timings(folder / "captures"))
    about = about_run(verdict, digest, [record for _, record in records])
    intervals = {key: limits for place, _ in records for key, limits in of_samples(place)}
    known = {column.name for column in COLUMNS}
    with table.open(newline="", encoding="utf-8") as stream:
        rows = [
            {
                name: none(parse(name, text))
                for name, text in row.items()
                if name in known and text is not None
            }
            for row in csv.DictReader(stream)
        ]
    for row in rows:
        row |= {"run": folder.name, **about}
        if row.get("level") == "block":
            key = (row["workload"], row["case"], row["variant"])
            row["event_low_ns"], row["event_high_ns"] = intervals.get(key, (None, None))
    return rows


def timings(captures: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Folder and record of every timing pass; a replay has none of its own."""
    for path in sorted(captures.glob("*/*/run.json")) + sorted(captures.glob(f"*/*/{PREFIX}*/run.json")):
        record = read_json(path)
        if record.get("pass") == "timing":
            yield path.parent, record


def about_run(
    verdict: Mapping[str, Any], digest: str, records: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The columns that all rows of a run share; several machines in one run are named together."""
    gpus = [record.get("gpu") or {} for record in records]
    versions = [record.get("versions") or {} for record in records]
    return {
        "measured_at": min((r["started"] for r in records if r.get("started")), default=None),
        "machine": joined(
            gpu.get("name") or record.get("device") for gpu, record in zip(gpus, records, strict=True)
        ),
        "gpu_uuid": joined(gpu.get("uuid") for gpu in gpus),
        "driver": joined(version.get("driver") for version in versions),
        "torch": joined(version.get("torch") for version in versions),
        "commit": joined(record.get("commit") for record in records),
        "verdict": verdict["verdict"],
        "table_sha256": digest,
    }


def of_samples(folder: Path) -> Iterator[tuple[tuple[str, str, str], tuple[float, float]]]:
    """(workload, case, variant) -> limits of the median call, of the first process of a case."""
    if folder.name.startswith(PREFIX) or not (folder / "timing.json").is_file():
        return
    for variant, timed in read_json(folder / "timing.json", format=1)["variants"].items():
        if (limits := median_limits(timed["samples_ns"])) is not None:
            yield (folder.parent.name, folder.name, variant), limits


def median_limits(samples: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """Two of the sorted samples that enclose the median with ``confidence``; None where there are too few.

    As many samples lie below the median as heads in so many throws of a coin.
    """
    count, left, below = len(samples), (1 - confidence) / 2, 0.0
    for rank in range(count // 2 + 1):
        below += comb(count, rank) / 2**count
        if below > left:
            ordered = sorted(samples)
            return None if rank == 0 else (float(ordered[rank - 1]), float(ordered[count - rank]))
    return None


def joined(values: Any) -> str | None:
    return ", ".join(sorted({value for value in values if value})) or None


def none(value: Any) -> Any:
    return None if value == "" else value
