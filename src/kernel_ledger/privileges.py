"""With which rights a pass ran: what a claim such as "it works without root" has to know."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

STATUS = Path("/proc/self/status")
PARAMETERS = Path("/proc/driver/nvidia/params")
CAP_SYS_ADMIN = (
    21  # linux/capability.h; the right that NVIDIA's driver asks for where counters are restricted
)


def privileges(status: Path = STATUS, parameters: Path = PARAMETERS) -> dict[str, Any]:
    """``euid``; ``cap_sys_admin``; ``profiling_admin_only``: whether the driver keeps GPU counters for
    administrators (RmProfilingAdminOnly).  None where the system does not tell."""
    effective = found(status, r"^CapEff:\s*([0-9a-f]+)$")
    restricted = found(parameters, r"^RmProfilingAdminOnly:\s*([0-9]+)$")
    return {
        "euid": os.geteuid(),
        "cap_sys_admin": None if effective is None else bool(int(effective, 16) >> CAP_SYS_ADMIN & 1),
        "profiling_admin_only": None if restricted is None else restricted != "0",
    }


def found(path: Path, pattern: str) -> str | None:
    """The first group of a pattern's match on a line of a file, None for no match and no file."""
    try:
        match = re.search(pattern, path.read_text(), re.MULTILINE)
    except OSError:
        return None
    return match[1] if match else None
