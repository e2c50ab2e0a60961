"""make check-kernels: every custom kernel against float64, and on a GPU under compute-sanitizer -> results.csv, summary.json."""

import argparse
import os
import sys
from functools import partial
from pathlib import Path

from kernel_ledger.entry import run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=["cuda", "cpu"], required=True)
    parser.add_argument("--library", type=Path, help="build/<device>/kernels.so where left out")
    parser.add_argument("--output", type=Path, help="reports/check-kernels/<device> where left out")
    parser.add_argument(
        "--small", action="store_true", help="no giant tensors, no sanitizer: what a sanitizer runs"
    )
    args = parser.parse_args()
    library = args.library or Path("build") / args.device / "kernels.so"
    folder = args.output or Path("reports/check-kernels") / args.device
    from kernel_ledger.kernel_checks.session import check_all, sanitized

    own = [sys.executable, __file__, "--device", args.device, "--library", str(library), "--small"]
    whole = args.device == "cuda" and not args.small
    again = partial(sanitized, own, folder, os.environ) if whole else None
    return 0 if check_all(args.device, library, folder, again) else 1


run(main)
