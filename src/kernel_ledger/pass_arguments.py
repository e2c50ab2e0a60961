"""The command line that the four pass scripts share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from .launch import Job


def job(pass_name: str, description: str | None, arguments: Sequence[str] | None = None) -> Job:
    """The job that a command line asks for (``sys.argv`` where None)."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--plan", type=Path, required=True, help="reports/<run>/captures/plan.json")
    parser.add_argument("--workload", required=True)
    parser.add_argument("--case", required=True)
    parser.add_argument("--library", type=Path, help="build/<device>/kernels.so, for variants that need it")
    parser.add_argument("--output", type=Path, required=True, help="the case's folder in the captures")
    if pass_name == "torch":
        parser.add_argument("--variant", required=True, help="the one variant of this process")
    args = parser.parse_args(arguments)
    return Job(
        pass_name=pass_name,
        plan_path=args.plan,
        workload=args.workload,
        case=args.case,
        library=args.library,
        output=args.output,
        variant=getattr(args, "variant", None),
    )
