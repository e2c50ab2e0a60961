"""The command line that the four pass scripts share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from .launch import Job
from .repeats import folder


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
    if pass_name != "numerics":
        parser.add_argument("--repeat", type=int, default=1, help="which of measure.repeats, from 1")
    args = parser.parse_args(arguments)
    repeat = getattr(args, "repeat", 1)
    return Job(
        pass_name=pass_name,
        plan_path=args.plan,
        workload=args.workload,
        case=args.case,
        library=args.library,
        output=args.output / folder(repeat),
        variant=getattr(args, "variant", None),
        repeat=repeat,
    )
