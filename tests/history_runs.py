"""Runs for the tests of the history: folders as a run leaves them, and many rows as thousands of runs would."""

import csv
import json

import numpy as np
import pyarrow as pa

from kernel_ledger.columns import NAMES
from kernel_ledger.files import sha256
from kernel_ledger.history import dataset
from kernel_ledger.history.facts import schema

VARIANTS = ("eager", "fused", "compiled", "copy")
ROWS_OF_A_RUN = 40


def write_run(
    reports, name, median_ns, *, day=1, verdict="verified", commit=None, gpu="NVIDIA H200", columns=NAMES
):
    """A run's folder: results.csv, verdict.json, and the timing pass of its one case."""
    case = reports / name / "captures" / "w" / "c"
    case.mkdir(parents=True)
    row = dict.fromkeys(columns, "")
    row |= {"run": name, "workload": "w", "case": "c", "variant": "v", "level": "block", "name": "v"}
    row |= {"event_median_ns": median_ns, "event_mad_ns": 10, "event_samples": 20, "status": "verified"}
    table = reports / name / "results.csv"
    with table.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, row)
        writer.writeheader()
        writer.writerow(row)
    judged = {"format": 1, "verdict": verdict, "files": {"results.csv": sha256(table)}}
    (reports / name / "verdict.json").write_text(json.dumps(judged))
    record = {
        "format": 1, "pass": "timing", "device": "cuda", "started": f"2026-01-{day:02d}T00:00:00.000+00:00",
        "commit": commit, "gpu": {"name": gpu, "uuid": "GPU-1"}, "versions": {"driver": "580.1", "torch": "2.13.0"},
    }  # fmt: skip
    (case / "run.json").write_text(json.dumps(record))
    samples = [median_ns + shift for shift in range(-10, 10)]
    (case / "timing.json").write_text(json.dumps({"format": 1, "variants": {"v": {"samples_ns": samples}}}))


def medians(generator, runs, noise=0.003, kept=0.3, odd=0.03, odd_size=0.03):
    """Medians of a flat series as a machine gives them: noise that lasts a little, and now and then a slow run."""
    values = generator.normal(0, noise, runs)
    for index in range(1, runs):
        values[index] = kept * values[index - 1] + (1 - kept**2) ** 0.5 * values[index]
    slow = (generator.random(runs) < odd) * generator.exponential(odd_size, runs)
    return 1e6 * (1 + values) * (1 + slow)


def write_many(folder, runs, files=20):
    """A dataset of so many runs, each with four block rows among ROWS_OF_A_RUN, in a few files."""
    generator, per_file = np.random.default_rng(1), runs // files
    rows = per_file * ROWS_OF_A_RUN
    for number in range(files):
        run = np.repeat(np.arange(per_file) + number * per_file, ROWS_OF_A_RUN)
        place = np.tile(np.arange(ROWS_OF_A_RUN), per_file)
        block = place < len(VARIANTS)
        known = {
            "run": [f"run{n:05d}" for n in run],
            "measured_at": [f"2026-01-01T{n:08d}" for n in run],
            "machine": ["NVIDIA H200"] * rows,
            "commit": [f"{n:040x}" for n in run],
            "verdict": ["verified"] * rows,
            "table_sha256": [f"{n:064x}" for n in run],
            "workload": ["linear_chain"] * rows,
            "case": ["rows65536_dim1024"] * rows,
            "variant": [VARIANTS[p % len(VARIANTS)] for p in place],
            "level": np.where(block, "block", "kernel").tolist(),
            "name": [f"kernel{p}" for p in place],
            "event_median_ns": pa.array(generator.normal(1e6, 3e3, rows), mask=~block),
            "event_mad_ns": pa.array(generator.normal(1e3, 10, rows), mask=~block),
            "nsys_median_ns": generator.normal(1e5, 3e2, rows),
        }
        kinds = {field.name: field.type for field in schema()}
        table = pa.table(
            {n: pa.array(known[n], kinds[n]) if n in known else pa.nulls(rows, k) for n, k in kinds.items()}
        )
        dataset.write(folder / f"part-{number + 1:06d}.parquet", table)
