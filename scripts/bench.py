"""make bench: large captures read by ours and by others, and a whole run on a GPU -> reports/benchmark/; 1 if a bar falls."""

import argparse
import shutil
from importlib.util import find_spec
from pathlib import Path

from kernel_ledger.benchmark import large, orchestration, records
from kernel_ledger.benchmark.bars import Bar, bars
from kernel_ledger.benchmark.beside import beside
from kernel_ledger.entry import run
from kernel_ledger.machine import gpu_count

PEERS = Path("tools/bench-venv/bin/python")
FOLDER = Path("build/benchmark")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--device", choices=("cuda", "cpu"), help="time a whole run too; cuda where there is a GPU"
    )
    parser.add_argument(
        "--beside", action="store_true", help="on a GPU: does exporting beside a pass disturb it?"
    )
    parser.add_argument("--only", choices=("large", "orchestration"), help="leave the other part out")
    parser.add_argument("--output", type=Path, default=Path("reports/benchmark"))
    parser.add_argument("settings", nargs="*", help="further --config settings of that run, key=value")
    args = parser.parse_args()
    judged = []
    if args.only != "orchestration":
        judged += read_large(args.output)
    device = args.device or ("cuda" if gpu_count() else None)
    if device and args.only != "large":
        judged += time_runs(device, args)
    for bar in judged:
        print(f"{'holds' if bar.holds else 'FALLS'}  {bar.value:8.3g} {bar.sense} {bar.limit:g}   {bar.what}")
    return int(any(not bar.holds for bar in judged))


def read_large(output: Path) -> list[Bar]:
    """Large captures read by ours and by what else is installed."""
    nsys, peers = large.present_nsys(), PEERS if PEERS.exists() else None
    found = large.collect(large.measurements(FOLDER, peers, nsys, find_spec("torch") is not None), print)
    shutil.rmtree(FOLDER)
    judged = bars(found)
    records.write_large(output, list(found.values()), judged, records.machine(large.versions(peers, nsys)))
    return judged


def time_runs(device: str, args: argparse.Namespace) -> list[Bar]:
    """A whole run, timed."""
    figures = orchestration.orchestration(device, args.settings)
    judged = orchestration.judged(figures) if device == "cuda" else []
    figures += beside(device, args.settings) if args.beside and device == "cuda" else []
    orchestration.write(args.output, figures, orchestration.machine())
    for figure in figures:
        print(f"{figure.what:12} {figure.seconds:9.2f} s   {figure.meaning}")
    return judged


run(main)
