"""Rule kernel_code: the built library and Triton's cache -> PTX and resources of the kernels that the traces name."""

import argparse
from pathlib import Path

from kernel_ledger.entry import run
from kernel_ledger.files import write_json
from kernel_ledger.insight import read_cases
from kernel_ledger.kernel_code.collect import collect
from kernel_ledger.kernel_code.table import launched_kernels
from kernel_ledger.kernel_code.tools import find_tools
from kernel_ledger.plan_file import read_plan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--plan", "--captures", "--build", "--sources", "--output"):
        parser.add_argument(option, type=Path, required=True)
    args = parser.parse_args()
    cases = read_cases(read_plan(args.plan), args.captures, [])
    recorded = launched_kernels({case.plan.label: case.steps for case in cases})
    write_json(args.output, collect(args.build, args.sources, recorded, find_tools()))


run(main)
