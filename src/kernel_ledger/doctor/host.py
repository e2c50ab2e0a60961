"""Disk and kernel settings of the host."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from .finding import DEVICES, Line, good, missing, warning

GIB = 2**30
LEAST_BYTES = 512 * 2**20
TORCH_BYTES = 10 * GIB
RUN_BYTES = 2 * GIB


def disk_line(folder: Path, torch_installed: bool, free: int | None = None) -> Line:
    """Room for captures, and for PyTorch with CUDA where it still has to be installed.  ``free``: bytes."""
    free = shutil.disk_usage(folder).free if free is None else free
    found = f"{free / GIB:.1f} GiB free in {folder}"
    if free < LEAST_BYTES:
        return missing("disk", found, "free at least 2 GiB: captures would not fit", stops=DEVICES)
    due = RUN_BYTES if torch_installed else TORCH_BYTES
    if free < due:
        use = "captures" if torch_installed else "captures and PyTorch, which is not installed yet,"
        return warning("disk", found, f"{use} can need {due / GIB:.0f} GiB")
    return good("disk", found)


def perf_event_paranoid(root: Path = Path("/")) -> str | None:
    path = root / "proc/sys/kernel/perf_event_paranoid"
    return path.read_text().strip() if path.is_file() else None


def counters_for_administrators(root: Path = Path("/")) -> str | None:
    """What the driver says of NVreg_RestrictProfilingToAdminUsers: "0", "1" or None."""
    path = root / "proc/driver/nvidia/params"
    match = re.search(r"RmProfilingAdminOnly:\s*(\d)", path.read_text()) if path.is_file() else None
    return match[1] if match else None
