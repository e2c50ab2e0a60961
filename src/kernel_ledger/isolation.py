"""Keeps other processes out of an nsys report: nsys sees only the processes of a namespace of its own.

nsys reads /proc/<pid>/environ of every process that it may read, the user's shell and its parents among
them, and stores them in the .nsys-rep: an allow-listed environment for nsys alone is not enough (measured
with 2023.4.4 and 2025.3.1: a variable exported in the calling shell stood in the report).  In a PID namespace
with a /proc of its own there is nothing to read.  util-linux's unshare makes one, with a user namespace
where the caller is not root.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from . import process

NAMESPACES = ("--pid", "--fork", "--mount-proc", "--kill-child")
OWN_USER = ("--user", "--map-current-user")
PROBE_S = 10


def isolated(environment: Mapping[str, str]) -> tuple[list[str], str | None]:
    """(command prefix, None), or ([], why no namespace can be made here)."""
    unshare = shutil.which("unshare", path=environment.get("PATH"))
    if unshare is None:
        return [], "unshare (package util-linux) is not on PATH"
    attempts = [NAMESPACES, (*OWN_USER, *NAMESPACES)] if os.geteuid() == 0 else [(*OWN_USER, *NAMESPACES)]
    for options in attempts:
        prefix = [unshare, *options, "--"]
        tried = process.run([*prefix, "true"], environment=environment, timeout_s=PROBE_S)
        if tried.exit_status == 0:
            return prefix, None
    return [], f"unshare failed: {' '.join(tried.output.split())[:200]}"
