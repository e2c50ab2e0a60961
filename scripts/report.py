"""Rule report: results.csv and verdict.json of a run -> summary.md."""

import argparse
from pathlib import Path

from kernel_ledger.entry import run
from kernel_ledger.files import read_json, require_recorded, write_text
from kernel_ledger.reconcile import read_table
from kernel_ledger.report.summary import summary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, required=True)
    folder = parser.parse_args().run
    verdict = read_json(folder / "verdict.json", format=1)
    require_recorded(folder, verdict.get("files", {}))
    text = summary(read_table(folder / "results.csv"), verdict)
    write_text(folder / "summary.md", text)


run(main)
