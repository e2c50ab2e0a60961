"""Generates a large nsys SQLite export from a recorded one: structure kept, times and ids shifted.

The recording is repeated; with several host threads each repetition runs on the next one, all at the same time,
as data loaders and parallel modules do.  The same seed and size give the same rows.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

RECORDED = Path("reports/h200-reference/captures/linear_chain/rows65536_dim1024/nsys/report.sqlite")
KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
RANGES = "NVTX_EVENTS"
COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
DOMAIN_CREATED = 75
GAP_NS = 5_000_000
JITTER_NS = 400


def write(path: Path, recorded: Path, kernels: int, threads: int, seed: int) -> None:
    """Write an export of about ``kernels`` kernels that ``threads`` host threads launched."""
    shutil.copyfile(recorded, path)
    path.chmod(0o644)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        present = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        tables = [t for t in (KERNELS, CALLS, RANGES, COPIES) if t in present]
        (count,) = connection.execute(f"SELECT count(*) FROM {KERNELS}").fetchone()
        repeats = max(1, round(kernels / count))
        (length,) = connection.execute(f"SELECT max(end) - min(start) + {GAP_NS} FROM {KERNELS}").fetchone()
        (ids,) = connection.execute(f"SELECT max(correlationId) + 1 FROM {CALLS}").fetchone()
        connection.execute("CREATE TEMP TABLE repeat (n INTEGER PRIMARY KEY)")
        connection.executemany("INSERT INTO repeat VALUES (?)", ((n,) for n in range(repeats)))
        for table in tables:
            enlarge(connection, table, length, ids, threads, seed)
        connection.commit()


def enlarge(
    connection: sqlite3.Connection, table: str, length: int, ids: int, threads: int, seed: int
) -> None:
    """Replace the rows of a table by their repetitions."""
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    connection.execute(f"CREATE TEMP TABLE template AS SELECT * FROM {table}")
    connection.execute(f"DELETE FROM {table}")
    jitter = f"((t.rowid * 7919 + r.n * 104729 + {seed}) % {JITTER_NS})" if table == KERNELS else "0"
    shifted = {
        "start": f"t.start + (r.n / {threads}) * {length}",
        "end": f"t.end + (r.n / {threads}) * {length} + {jitter}",
        "globalTid": f"t.globalTid + r.n % {threads}",
        "correlationId": f"t.correlationId + r.n * {ids}",
    }
    chosen = ", ".join(shifted.get(name, f't."{name}"') for name in columns)
    once = ""
    if table == RANGES:
        connection.execute(f"INSERT INTO {table} SELECT * FROM template WHERE eventType = {DOMAIN_CREATED}")
        once = f"WHERE t.eventType != {DOMAIN_CREATED}"
    connection.execute(
        f"INSERT INTO {table} SELECT {chosen} FROM repeat AS r CROSS JOIN template AS t {once} ORDER BY r.n, t.rowid"
    )
    connection.execute("DROP TABLE template")


if __name__ == "__main__":
    import sys

    write(Path(sys.argv[1]), RECORDED, int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
