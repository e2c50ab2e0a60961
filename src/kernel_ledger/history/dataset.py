"""reports/history/runs/: the rows of all runs as one Parquet dataset, which DuckDB, pandas or pyarrow read whole.

A file holds the runs that one `make history` found new, and is never changed; ``run`` tells them apart.  One file for
each run would make a question to ten thousand runs a question to ten thousand files.  Where many files have come
together, they become one.  All of it can be made anew from the folders of the runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from ..errors import EvidenceError
from ..files import publish, sha256, temporary_for
from .facts import schema

NAME = re.compile(r"part-(\d{6})\.parquet")
MANY = 64  # files, which then become one
ORDER = ("workload", "case", "variant", "level", "name", "measured_at", "run")
SERIES = ("workload", "case", "variant", "machine", "measured_at", "run")
ROW_GROUP = 64_000


def parts(folder: Path) -> list[Path]:
    """The dataset's files, oldest first."""
    return sorted(path for path in folder.glob("part-*.parquet") if NAME.fullmatch(path.name))


def check(folder: Path) -> None:
    """Raises EvidenceError for a file of the dataset that is not whole."""
    for path in parts(folder):
        try:
            pq.read_metadata(path)
        except (pa.ArrowInvalid, OSError) as error:
            raise EvidenceError(
                "this file of the dataset is damaged",
                where=path,
                found=str(error).splitlines()[0],
                next_step="restore it from a copy; or remove it and run make history: runs whose folders are still there"
                " come back",
            ) from error


def opened(folder: Path) -> ds.Dataset:
    """The dataset as one table; a column that an older file lacks is null there."""
    return ds.dataset([str(path) for path in parts(folder)], schema=schema(), format="parquet")


def known_runs(folder: Path) -> dict[str, str]:
    """Run -> SHA-256 of its table, of those that the dataset holds."""
    if not parts(folder):
        return {}
    table = (
        opened(folder)
        .to_table(columns=["run", "table_sha256"])
        .group_by(["run", "table_sha256"])
        .aggregate([])
    )
    return dict(zip(table["run"].to_pylist(), table["table_sha256"].to_pylist(), strict=True))


def table_digest(run: Path) -> str:
    return sha256(run / "results.csv")


def append(folder: Path, rows: Sequence[Mapping[str, Any]]) -> Path | None:
    """Write the rows of new runs as one more file; None where there are none."""
    if not rows:
        return None
    number = 1 + max((int(NAME.fullmatch(path.name)[1]) for path in parts(folder)), default=0)
    path = folder / f"part-{number:06d}.parquet"
    write(path, pa.Table.from_pylist(list(rows), schema=schema()))
    if len(parts(folder)) > MANY:
        compact(folder)
    return path


def compact(folder: Path) -> None:
    """Make one file of all: the new one first, so that a kill doubles rows, which the next update mends."""
    old = parts(folder)
    number = 1 + int(NAME.fullmatch(old[-1].name)[1])
    write(folder / f"part-{number:06d}.parquet", opened(folder).to_table())
    for path in old:
        path.unlink()


def mend(folder: Path) -> None:
    """Remove files whose runs the newest holds as well: a compaction was killed before it could."""
    *older, newest = parts(folder) or [None]
    if older:
        held = runs_of(newest)
        for path in older:
            if runs_of(path) <= held:
                path.unlink()


def runs_of(path: Path) -> set[str]:
    return set(pq.read_table(path, columns=["run"])["run"].unique().to_pylist())


def drop(folder: Path, runs: Iterable[str]) -> None:
    """Forget runs: those whose table has changed since, or whose folder is gone and shall be so here."""
    runs = pa.array(sorted(runs), pa.string())
    for path in parts(folder):
        table = pq.read_table(path)
        kept = table.filter(pc.invert(pc.is_in(table["run"], value_set=runs)))
        if kept.num_rows == 0:
            path.unlink()
        elif kept.num_rows < table.num_rows:
            write(path, kept)


def write(path: Path, table: pa.Table) -> None:
    """Sorted, so that a question about one series reads few row groups."""
    temporary = temporary_for(path)
    ordered = table.sort_by([(name, "ascending") for name in ORDER])
    pq.write_table(ordered, temporary, compression="zstd", row_group_size=ROW_GROUP)
    publish(temporary, path)


def series(folder: Path, level: str = "block") -> pa.Table:
    """What trends are drawn from: the timed rows of all runs, in the order of time within each series."""
    columns = ["run", "measured_at", "machine", "commit", "verdict", "workload", "case", "variant"]
    columns += ["event_median_ns", "event_mad_ns", "event_low_ns", "event_high_ns", "event_samples"]
    wanted = (ds.field("level") == level) & ds.field("event_median_ns").is_valid()
    table = opened(folder).to_table(columns=columns, filter=wanted)
    # a run that did not record its time is older than those that did
    by = [(name, "ascending", "at_start") for name in SERIES]
    return table.take(pc.sort_indices(table, sort_keys=by))
