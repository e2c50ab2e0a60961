"""Rule reconcile: the captures of a run -> results.csv, results.parquet, results.schema.json, verdict.json, ranks.csv."""

import argparse
from pathlib import Path

from kernel_ledger.capture import read_case
from kernel_ledger.columns import table_schema
from kernel_ledger.entry import run
from kernel_ledger.files import sha256, write_json, write_text
from kernel_ledger.parquet import write_parquet
from kernel_ledger.plan_file import read_plan
from kernel_ledger.ranks.table import rank_rows, ranks_text
from kernel_ledger.reconcile import reconcile_case, write_table
from kernel_ledger.reconcile.withhold import withhold
from kernel_ledger.replayed import note
from kernel_ledger.verdict import examine, judge

JUDGED = ("results.csv", "results.parquet", "results.schema.json")
RANKS = "ranks.csv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", type=Path, required=True)
    parser.add_argument("--captures", type=Path, required=True)
    parser.add_argument(
        "--output", type=Path, required=True, help="run folder; its name becomes the column run"
    )
    args = parser.parse_args()
    plan = read_plan(args.plan)
    evidence = [read_case(plan, case, args.captures) for case in plan.cases]
    cases = [(case, reconcile_case(plan, case)) for case in evidence]
    examined = [(case, examine(plan, case, rows)) for case, rows in cases]
    for (_, rows), (_, outcomes) in zip(cases, examined, strict=True):
        withhold(rows, outcomes)
    rows = [row | {"run": args.output.name} for _, rows in cases for row in rows]
    ranks = [row | {"run": args.output.name} for case in evidence for row in rank_rows(case)]
    verdict = args.output / "verdict.json"
    verdict.unlink(missing_ok=True)  # it must not vouch for a table that comes after it
    write_table(rows, args.output / "results.csv")
    write_parquet(rows, args.output / "results.parquet")
    write_json(args.output / "results.schema.json", table_schema())
    (args.output / RANKS).unlink(missing_ok=True)
    if ranks:  # only where a case is a group of processes
        write_text(args.output / RANKS, ranks_text(ranks))
    judged = [*JUDGED, *([RANKS] if ranks else [])]
    files = {name: sha256(args.output / name) for name in judged}
    write_json(verdict, judge(plan, examined) | {"files": files} | note(args.output, args.captures))


run(main)
