"""Rule collision_control: a torch pass under nsys, which must notice it -> captures/collision_control.json."""

import argparse
from pathlib import Path

from kernel_ledger import entry
from kernel_ledger.control import run_control


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", type=Path, required=True)
    parser.add_argument("--workload", required=True)
    parser.add_argument("--case", required=True)
    parser.add_argument("--variant", required=True)
    parser.add_argument("--library", type=Path, help="build/<device>/kernels.so, for variants that need it")
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()
    run_control(args.plan, args.workload, args.case, args.variant, args.library, args.output)


entry.run(main)
