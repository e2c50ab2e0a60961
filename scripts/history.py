"""make history: the runs in reports/ -> reports/history/: one Parquet dataset, a picture of each case, changes.txt."""

import argparse
from pathlib import Path

from kernel_ledger.entry import run
from kernel_ledger.history.trend import sentence
from kernel_ledger.history.update import draw, update


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reports", type=Path, default=Path("reports"))
    parser.add_argument("--output", type=Path, default=Path("reports/history"))
    parser.add_argument("--last", type=int, default=300, help="runs that a picture shows")
    parser.add_argument(
        "--rebuild", action="store_true", help="forget runs whose folders are gone, read all others again"
    )
    args = parser.parse_args()
    updated = update(args.reports, args.output, rebuild=args.rebuild)
    for name, reason in updated.skipped.items():
        print(f"left out: {name}: {reason}")
    print(f"{len(updated.added)} runs added, {updated.total} in {args.output / 'runs'}")
    for trend in draw(args.output, args.last):
        for change in trend.changes:
            print(sentence(trend, change))


if __name__ == "__main__":
    run(main)
