"""What report.sqlite and export.json say beside the records: the tool's own errors, and whose ranges these are."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from ..capture import CaseEvidence
from ..dropped import lost_records
from ..errors import EvidenceError
from ..nsys.database import Reader, connect
from ..nsys.tables import DOMAIN
from .outcome import shorten

SQLITE = "nsys/report.sqlite"
SERIOUS = ("Error", "Critical", "Fatal")
# of what the ledger does not record: the CPU's samples and context switches, and graphics
HARMLESS = re.compile(
    r"\b(?:CPU (?:IP|sampling|context switch|profiling)|perf_event_paranoid|context switch|backtrace|Vulkan|OpenGL)\b",
    re.IGNORECASE,
)


def serious_diagnostics(case: CaseEvidence) -> list[str]:
    """Errors that nsys told of in its report, whatever their wording; of lost records other sentences speak."""
    told = [(d.get("severity"), d.get("text", "")) for d in (case.export or {}).get("diagnostics", ())]
    if case.nsys is not None:
        told += recorded_diagnostics(case.folder / SQLITE)
    serious = dict.fromkeys(" ".join(text.split())[:200] for severity, text in told if severity in SERIOUS)
    return shorten(
        [
            f"nsys: its report holds an error: {t}"
            for t in serious
            if not HARMLESS.search(t) and not [*lost_records([t])]
        ]
    )


def recorded_diagnostics(path: Path) -> list[tuple[str, str]]:
    """(severity, text) of each; nothing of a damaged database, which other checks name."""
    try:
        with closing(connect(path)) as connection:
            return [(d.severity, d.text or "") for d in Reader(connection, path).diagnostics()]
    except (EvidenceError, sqlite3.Error):
        return []


def recorded_ranges(path: Path) -> list[str]:
    """Names of all ranges in the ledger's own domain, announced or not, in the order of the alphabet."""
    try:
        with closing(connect(path)) as connection:
            return sorted({r.name for r in Reader(connection, path).ranges() if r.domain == DOMAIN})
    except (EvidenceError, sqlite3.Error):
        return []
