"""Rule insight: captures and results.csv of a run -> fusion.csv, fusion_achieved.csv, roofline.csv, roofline.svg, operators.csv,
kernels.csv, kernels/*.ptx, stacks.csv, stacks/*."""

import argparse
from pathlib import Path

from kernel_ledger import insight_files
from kernel_ledger.entry import run
from kernel_ledger.files import read_json
from kernel_ledger.insight import read_cases
from kernel_ledger.plan_file import read_plan
from kernel_ledger.reconcile import read_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--plan", "--captures", "--run"):
        parser.add_argument(option, type=Path, required=True)
    args = parser.parse_args()
    table = read_table(args.run / "results.csv")
    cases = read_cases(read_plan(args.plan), args.captures, table)
    emitted = bool(read_json(args.plan).get("nsys", {}).get("emit_nvtx"))
    insight_files.fusion(args.run, cases)
    insight_files.roofline(args.run, cases, table)
    insight_files.operators(args.run, cases, emitted)
    insight_files.kernels(args.run, cases, args.captures)
    insight_files.stacks(args.run, cases)


run(main)
