"""Some cases of a run, as a run of their own that says what it leaves out: RUN -> OUTPUT/captures."""

import argparse
from pathlib import Path

from kernel_ledger.entry import run
from kernel_ledger.excerpt import excerpt


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, required=True, help="the run folder to take from")
    parser.add_argument("--case", action="append", required=True, help="workload/case; may be given again")
    parser.add_argument("--output", type=Path, required=True, help="a run folder that is not there yet")
    args = parser.parse_args()
    excerpt(args.run, args.case, args.output)


run(main)
