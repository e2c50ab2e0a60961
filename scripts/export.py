"""Rule export: report.nsys-rep of one case -> SQLite, the CSVs of nsys stats, export.json."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from kernel_ledger.entry import run
from kernel_ledger.environment import allowed, secrets
from kernel_ledger.files import read_json
from kernel_ledger.limits import limits_of
from kernel_ledger.nsys.export import export, export_nothing
from kernel_ledger.nsys.find import find


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", type=Path, required=True)
    parser.add_argument("--capture", type=Path, required=True, help="folder <workload>/<case>")
    args = parser.parse_args()
    plan = read_json(args.plan, format=1)
    folder = args.capture / "nsys"
    recorded = read_json(folder / "run.json", format=1)
    if "absent" in recorded:
        export_nothing(folder, recorded["absent"])
        return
    export(
        folder,
        find(plan["nsys"]["path"], os.environ),
        device=plan["device"],
        recorder_version=recorded["versions"]["nsys"],
        environment=allowed(os.environ),
        timeout_s=limits_of(plan).max_seconds,
        limits=limits_of(plan),
        secrets=secrets(os.environ, plan),
        allowed_names=plan["environment"],
    )


if __name__ == "__main__":
    run(main)
