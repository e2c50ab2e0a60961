"""How large a capture may grow: checked where it grows, with what was found and what to change in config.yaml."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import LedgerError, PassError

GB = 10**9
BYTES_PER_EVENT = 400  # of Kineto's JSON, which it writes before it is packed: 320 to 350 in real traces
SQLITE_PER_REPORT = 15  # an .nsys-rep is compressed; its export was 3 to 12 times as large in real recordings
LEAVE_FREE = 2 * GB


@dataclass(frozen=True)
class Limits:
    """``max_events`` of one trace or recording; ``max_seconds`` of one export; ``max_disk_gb`` of one file;
    ``key_averages_events``: beyond these, key_averages() is not computed; ``reports_kernels``: beyond these, the
    costly nsys reports are computed from the SQLite export, unless ``nsys_reports`` is "tool"; ``timeline_events`` of a
    case: beyond these, a recording is left out of its timeline."""

    max_events: int = 50_000_000
    max_seconds: int = 3600
    max_disk_gb: float = 100.0
    key_averages_events: int = 200_000
    reports_kernels: int = 100_000
    nsys_reports: str = "auto"
    timeline_events: int = 2_000_000

    def computes(self, kernels: int) -> bool:
        """Whether the costly nsys reports of a recording of so many kernels are ours to compute."""
        return self.nsys_reports == "auto" and kernels > self.reports_kernels

    def check_events(self, count: int, where: Path) -> None:
        """Raises PassError beyond ``max_events``."""
        if count > self.max_events:
            raise PassError(
                "this pass recorded more events than it may",
                where=where,
                expected=f"at most {self.max_events} (limits.max_events)",
                found=count,
                next_step="lower measure.iterations or choose a smaller case, or raise limits.max_events",
            )

    def check_disk(self, needed: int, folder: Path, what: str) -> None:
        """Raises LedgerError where a file of about ``needed`` bytes may not be written, or would fill the disk."""
        free = shutil.disk_usage(folder).free
        if needed > self.max_disk_gb * GB:
            expected, key = (
                f"at most {self.max_disk_gb:g} GB (limits.max_disk_gb)",
                "raise limits.max_disk_gb",
            )
        elif needed > free - LEAVE_FREE:
            expected, key = (
                f"{LEAVE_FREE / GB:g} GB that stay free; {free / GB:.1f} GB are free",
                "make room on this disk",
            )
        else:
            return
        raise LedgerError(
            f"{what} would be too large",
            where=folder,
            expected=expected,
            found=f"about {needed / GB:.3g} GB",
            next_step=f"lower measure.iterations or choose a smaller case, or {key}",
        )


def limits_of(plan: Mapping[str, Any]) -> Limits:
    """The limits of a plan or a request; the first plans of format 1 have none, and get the defaults."""
    return Limits(**plan.get("limits") or {})
