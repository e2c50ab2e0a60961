"""Rule plan: the configuration, checked and frozen -> plan.json."""

import argparse
import json
from pathlib import Path

from kernel_ledger.config import load_config
from kernel_ledger.entry import run
from kernel_ledger.files import write_json
from kernel_ledger.plan import make_plan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--config", type=json.loads, required=True, help="JSON; what differs from the defaults"
    )
    parser.add_argument("--passes", nargs="+", required=True, help="passes that this machine can make")
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()
    write_json(args.output, make_plan(load_config(args.config), args.passes))


run(main)
