"""Rule gate: verdict.json -> gate.ok, or exit status 1 with what failed, unless the verdict is verified."""

import argparse
from pathlib import Path

from kernel_ledger.entry import run
from kernel_ledger.files import read_json, require_recorded, write_text
from kernel_ledger.gate import require_verified


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--verdict", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()
    args.output.unlink(missing_ok=True)
    verdict = read_json(args.verdict, format=1)
    require_recorded(args.verdict.parent, verdict.get("files", {}))
    require_verified(verdict, args.verdict)
    write_text(args.output, "verified\n")
    print(f"verdict: verified. Read {args.verdict.with_name('summary.md')}")


run(main)
