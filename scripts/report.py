"""Rule report: results.csv, verdict.json and the captures of a run -> summary.md, report.html."""

import argparse
from pathlib import Path

from kernel_ledger.entry import run
from kernel_ledger.files import read_json, require_recorded, write_text
from kernel_ledger.reconcile import read_table
from kernel_ledger.report.page import page
from kernel_ledger.report.summary import summary
from kernel_ledger.report.workloads import workload_sections


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--captures", type=Path, help="of a replay; else those of the run")
    options = parser.parse_args()
    folder, captures = options.run, options.captures or options.run / "captures"
    verdict = read_json(folder / "verdict.json", format=1)
    require_recorded(folder, verdict.get("files", {}))
    rows = read_table(folder / "results.csv")
    write_text(folder / "summary.md", summary(rows, verdict) + workload_sections(rows, captures))
    write_text(folder / "report.html", page(folder, captures))


run(main)
