"""make bench: times a whole run from nothing -> reports/benchmark/orchestration.csv, machine.json."""

import argparse
from pathlib import Path

from kernel_ledger.benchmark import machine, orchestration, write
from kernel_ledger.entry import run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--output", type=Path, default=Path("reports/benchmark"))
    parser.add_argument("settings", nargs="*", help="further --config settings, key=value")
    args = parser.parse_args()
    figures = orchestration(args.device, args.settings)
    write(args.output, figures, machine())
    for figure in figures:
        print(f"{figure.what:12} {figure.seconds:9.2f} s   {figure.meaning}")


run(main)
