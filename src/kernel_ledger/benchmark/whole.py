"""Generates the captures of a whole run from a recorded one: every call of its variants repeated, in both books.

A case of the reference run becomes one of as many kernels as are wanted; its CSVs are computed from the enlarged
export and its records announce what is there, so that the run reconciles as the reference does.
"""

from __future__ import annotations

import csv
import gzip
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..columnar.table import grouped
from ..files import read_json, sha256, write_json
from ..nsys import kernels, sums
from ..nsys.columns import export, ranges
from ..nsys.tables import COLUMNS, DOMAIN
from . import exports, traces

REFERENCE = Path("reports/h200-reference/captures")
CASE = Path("linear_chain") / "rows65536_dim1024"
PACKING = 1
"""Of gzip: the fastest; how well a trace is packed is not what is measured."""


def write(captures: Path, count: int, seed: int) -> None:
    """Write captures of one case with about ``count`` kernels in each book."""
    shutil.rmtree(captures, ignore_errors=True)
    shutil.copytree(REFERENCE / CASE, captures / CASE)
    shutil.copyfile(REFERENCE / "collision_control.json", captures / "collision_control.json")
    plan = read_json(REFERENCE / "plan.json")
    case = next(c for c in plan["cases"] if Path(c["workload"]) / c["case"] == CASE)
    repeats = max(1, round(count / (plan["iterations"] * sum(case["launches"].values()))))
    plan |= {"cases": [case], "iterations": plan["iterations"] * repeats}
    write_json(captures / "plan.json", plan)
    place = captures / CASE
    for variant in case["variants"]:
        enlarge_trace(place / "torch" / variant, variant, repeats, seed)
    enlarge_export(place / "nsys", count, seed)
    for path in (place / "numerics.json", place / "timing.json"):
        told = read_json(path)
        write_json(path, told | {"run": announced(told["run"], plan["iterations"])})
    for path in place.rglob("run.json"):
        record = announced(read_json(path), plan["iterations"])
        record["files"] = {name: sha256(path.parent / name) for name in record["files"]}
        write_json(path, record)


def enlarge_trace(folder: Path, variant: str, repeats: int, seed: int) -> None:
    """Replace a variant's trace by its repetitions."""
    with gzip.open(folder / "trace.json.gz", "wt", compresslevel=PACKING) as stream:
        for piece in traces.pieces(REFERENCE / CASE, (variant,), repeats, seed):
            stream.write(piece)


def enlarge_export(folder: Path, count: int, seed: int) -> None:
    """Replace an export by its repetitions, its CSVs by those of the repetitions, and their hashes."""
    sqlite = folder / "report.sqlite"
    exports.write(sqlite, REFERENCE / CASE / "nsys" / "report.sqlite", count, 1, seed)
    sums.nvtx_kern_sum(sqlite, folder / "nvtx_kern_sum.csv")
    sums.nvtx_gpu_proj_sum(sqlite, folder / "nvtx_gpu_proj_sum.csv")
    table(folder / "nvtx_sum.csv", range_rows(sqlite))
    table(folder / "cuda_gpu_kern_sum.csv", kernel_rows(kernels.kernels(sqlite)))
    table(folder / "cuda_gpu_kern_sum_by_range.csv", by_range(sqlite))
    told = read_json(folder / "export.json")
    for name, report in told["reports"].items():
        report["sha256"] = sha256(folder / name)
    told["sqlite"]["sha256"] = sha256(sqlite)
    write_json(folder / "export.json", told)


def table(path: Path, rows: Iterable[Sequence[Any]]) -> None:
    with path.open("w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([COLUMNS[path.name], *rows])


def figures(count: int, total: int, median: float, least: int, most: int, spread: float | None) -> list[Any]:
    """Share, total, count, mean, median, least, most and deviation, as `nsys stats` prints them; times in ns."""
    rounded = 0.0 if spread is None else round(spread, 1)
    return ["1.0", total, count, round(total / count, 1), float(median), least, most, rounded]


def kernel_rows(found: Iterable[tuple]) -> Iterator[list[Any]]:
    return ([*figures(*row), name] for name, *row in found)


def by_range(sqlite: Path) -> Iterator[list[Any]]:
    """Kernels by the range around their launch, under its name without the domain."""
    for row in kernels.kernels_by_range(sqlite, mangled=True).rows():
        name, _, _, _, _, count, total, _, *numbers, symbol = row
        inside = f"{name.removeprefix(DOMAIN + ':')}/" if name else ""
        yield [*figures(count, total, *numbers), inside + symbol]


def range_rows(sqlite: Path) -> Iterator[list[Any]]:
    with export(sqlite) as source:
        nvtx = ranges(source)
        for name, *row in grouped([nvtx.name], nvtx.end - nvtx.start).rows():
            yield [*figures(*row), "PushPop", nvtx.names[name]]


def announced(record: dict[str, Any], iterations: int) -> dict[str, Any]:
    """The record of a pass as if it had announced so many calls of each range."""
    return record | {"iterations": iterations, "announced": dict.fromkeys(record["announced"], iterations)}


if __name__ == "__main__":
    import sys

    write(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[4]))
