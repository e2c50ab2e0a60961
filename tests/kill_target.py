"""Runs a rule's script with the stand-in for the measured process: ``python kill_target.py <script> arguments``."""

import runpy
import sys
from pathlib import Path

from kernel_ledger import launch

ROOT = Path(__file__).resolve().parents[1]


def stand_in(request, path):
    return [sys.executable, str(Path(__file__).with_name("kill_child.py")), str(path)]


def run(script, arguments):
    launch.child_command = stand_in
    sys.argv = [script, *map(str, arguments)]
    runpy.run_path(str(ROOT / "scripts" / f"{script}.py"), run_name="__main__")


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2:])
