"""Which commit measured: of the checkout that the workflow runs in."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from . import process

ANSWER_S = 10


def commit(folder: Path, environ: Mapping[str, str]) -> str | None:
    """40 hex digits, ``-dirty`` added where a tracked file has changes; None outside a Git checkout."""
    git = shutil.which("git", path=environ.get("PATH"))
    if git is None:
        return None
    command = [git, "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    done = process.run(command, environment=environ, timeout_s=ANSWER_S)
    return done.output.strip() if done.exit_status == 0 else None
