"""Rule preflight: what this machine has and lacks -> logs/<run>/doctor.txt, or what keeps it from measuring."""

import argparse
import os
import sys
from pathlib import Path

from kernel_ledger.doctor import diagnose, report, require
from kernel_ledger.entry import run
from kernel_ledger.files import write_text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=["cuda", "cpu"], required=True)
    parser.add_argument("--nsys", default="", help="its path where config.yaml gives one")
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()
    lines = diagnose(os.environ, nsys=args.nsys or None)
    print(report(lines), end="", file=sys.stderr)
    require(lines, args.device)
    write_text(args.output, report(lines))


run(main)
