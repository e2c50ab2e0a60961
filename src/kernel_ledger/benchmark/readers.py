"""One measurement of ours, in a process of its own: python -m kernel_ledger.benchmark.readers WHAT FILE.

Prints a line of JSON: seconds of the work itself, without starting Python, and its processor time; how many kernels;
their ns in all.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path

Answer = tuple[int, int]


def total(rows: Iterable[tuple], count: int, time_ns: int) -> Answer:
    rows = list(rows)
    return sum(row[count] for row in rows), sum(row[time_ns] for row in rows)


def kineto_table(path: Path) -> Answer:
    from kernel_ledger.kineto import kernels

    return total(kernels(path).rows(), 1, 2)


def kineto_attributed(path: Path) -> Answer:
    from kernel_ledger.kineto import attributed_kernels

    return total(attributed_kernels(path).rows(), 2, 3)


def kineto_book(path: Path) -> Answer:
    from kernel_ledger.kineto import read

    ops = read(path, {"linear_chain/eager", "linear_chain/fused", "linear_chain/compiled"}).ops
    return len(ops), int(ops.duration.sum())


def nsys_table(path: Path) -> Answer:
    from kernel_ledger.nsys.kernels import kernels

    return total(kernels(path), 1, 2)


def nsys_by_range(path: Path) -> Answer:
    from kernel_ledger.nsys.kernels import kernels_by_range

    return total(kernels_by_range(path).rows(), 5, 6)


def nsys_projection(path: Path) -> Answer:
    from kernel_ledger.nsys.sums import nvtx_gpu_proj_sum

    return nvtx_gpu_proj_sum(path, path.with_suffix(".csv")), 0


def run_tables(captures: Path) -> Answer:
    """The kernel tables of every file of a run: what its reconciliation reads, each once, and nothing else."""
    from kernel_ledger.kineto import attributed_kernels
    from kernel_ledger.nsys.kernels import kernels_by_range

    for path in sorted(captures.rglob("trace.json.gz")):
        total(attributed_kernels(path).rows(), 2, 3)
    (export,) = captures.rglob("report.sqlite")
    return total(kernels_by_range(export).rows(), 5, 6)


def run_reconciled(captures: Path) -> Answer:
    """The rule reconcile: every book read, balanced and checked, down to the verdict."""
    from kernel_ledger.capture import read_case
    from kernel_ledger.plan_file import read_plan
    from kernel_ledger.reconcile import reconcile_case
    from kernel_ledger.reconcile.table import table_text
    from kernel_ledger.reconcile.withhold import withhold
    from kernel_ledger.verdict import examine, judge

    plan, rows, examined = read_plan(captures / "plan.json"), [], []
    for case in plan.cases:
        evidence = read_case(plan, case, captures)
        own = reconcile_case(plan, evidence)
        examined.append((evidence, examine(plan, evidence, own)))
        withhold(own, examined[-1][1])
        rows += own
    table_text(rows)
    judge(plan, examined)
    kernels = [row for row in rows if row["level"] == "kernel"]
    return total(((r["nsys_count"], r["nsys_total_ns"]) for r in kernels), 0, 1)


MODULES = {
    "run": ("kernel_ledger.verdict", "kernel_ledger.kineto", "kernel_ledger.nsys.kernels"),
    "kineto": ("kernel_ledger.kineto",),
    "nsys": ("kernel_ledger.nsys.kernels",),
}
READERS: dict[str, Callable[[Path], Answer]] = {
    f.__name__: f
    for f in (
        kineto_table,
        kineto_attributed,
        kineto_book,
        nsys_table,
        nsys_by_range,
        nsys_projection,
        run_tables,
        run_reconciled,
    )
}


def main(what: str, file: str) -> None:
    for module in MODULES[
        what.split("_")[0]
    ]:  # importing is not reading: the peers' imports do not count either
        import_module(module)
    begun, busy = time.perf_counter(), time.process_time()
    count, time_ns = READERS[what](Path(file))
    seconds, cpu_s = time.perf_counter() - begun, time.process_time() - busy
    print(json.dumps({"seconds": seconds, "cpu_s": cpu_s, "kernels": count, "total_ns": time_ns}))


if __name__ == "__main__":
    main(*sys.argv[1:])
