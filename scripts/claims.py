"""Rule claims: results.csv and the captures of a run -> claims.csv.

The claims are the plan's own; those of a plan from before there were claims are taken from the configuration.
"""

import argparse
import json
from pathlib import Path

from kernel_ledger.claims.declared import Claim
from kernel_ledger.claims.planned import claims_for
from kernel_ledger.claims.table import claim_rows, claims_text
from kernel_ledger.config import load_config
from kernel_ledger.entry import run
from kernel_ledger.files import read_json, write_text
from kernel_ledger.reconcile import read_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--plan", "--captures", "--results", "--output"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--config", type=json.loads, default={}, help="JSON, for plans without claims")
    args = parser.parse_args()
    config = load_config(args.config)
    cases = []
    for case in read_json(args.plan, format=1)["cases"]:
        recorded = [Claim(**claim) for claim in case.get("claims", ())]
        cases.append(
            (case, recorded if "claims" in case else [*config.claims, *claims_for(config, case["file"])])
        )
    write_text(args.output, claims_text(claim_rows(cases, read_table(args.results), args.captures)))


run(main)
