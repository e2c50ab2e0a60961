"""A checkout, a workload and settings whose names would do harm in a shell, a format string or a browser."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from workflow_copy import PARTS, ROOT

COMMAND = "$(touch pwned)"
FOLDER = f"a 'b' \"c\" {COMMAND}; `touch pwned` & <b>"
WORKLOAD = f"my work/it's {COMMAND} 'x'.py"
PARAMETER = f"'{COMMAND}' \"; touch pwned; {{wildcards.case}} {{SETTINGS}} <script>alert(1)</script>|x\\n=cmd"
KERNEL = f"=cmd|' /C calc'!A1\"\n<script>alert('{COMMAND}')</script> | `touch pwned` **b** [x](javascript:y), {{wildcards}}"
OPERATOR = f"@SUM(1,2)|<img src=x onerror=alert(1)>;{COMMAND}"


def hostile_checkout(root: Path) -> Path:
    """A copy of the repository in a folder with such a name."""
    folder = root / FOLDER
    folder.mkdir()
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(source, folder / part)
    (folder / WORKLOAD).parent.mkdir()
    shutil.copy(ROOT / "tests/data/tiny.py", folder / WORKLOAD)
    return folder


def run(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A Python command in the checkout, standard output and error together."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=180,
    )


def executed(root: Path) -> list[Path]:
    """What a shell would have left, anywhere below ``root``."""
    return [path for path in root.rglob("*") if path.name.startswith("pwned")]
