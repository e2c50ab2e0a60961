"""Rule report: the tables, verdict.json and captures of a run -> summary.md, report.html."""

import argparse
from pathlib import Path

from kernel_ledger.claims.table import read_claims
from kernel_ledger.entry import run
from kernel_ledger.files import require_recorded, write_text
from kernel_ledger.report.insight import insight_section
from kernel_ledger.report.page import page
from kernel_ledger.report.page.machine import machine
from kernel_ledger.report.page.read import read_run
from kernel_ledger.report.ranks import ranks_section
from kernel_ledger.report.summary import summary
from kernel_ledger.report.workloads import workload_sections


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--captures", type=Path, help="of a replay; else those of the run")
    options = parser.parse_args()
    folder, captures = options.run, options.captures or options.run / "captures"
    told = read_run(folder, captures)
    require_recorded(folder, told.verdict.get("files", {}))
    claims = read_claims(folder / "claims.csv") if (folder / "claims.csv").is_file() else []
    text = summary(told.rows, told.verdict, claims, machine(told), told.plan)
    text += ranks_section(folder) + workload_sections(told.rows, captures) + insight_section(folder)
    write_text(folder / "summary.md", text)
    write_text(folder / "report.html", page(folder, captures))


run(main)
