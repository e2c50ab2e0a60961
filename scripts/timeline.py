"""Rule timeline: the captures of one case -> both books as one Perfetto file."""

import argparse
from pathlib import Path

from kernel_ledger.entry import run
from kernel_ledger.files import write_bytes
from kernel_ledger.plan_file import read_plan
from kernel_ledger.timeline import case_timeline


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--plan", "--captures", "--output"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--workload", required=True)
    parser.add_argument("--case", required=True)
    args = parser.parse_args()
    plan = read_plan(args.plan)
    case = next(c for c in plan.cases if (c.workload, c.case) == (args.workload, args.case))
    write_bytes(args.output, case_timeline(plan, case, args.captures))


run(main)
