"""The claims of a run as the page lists them, with the figures of summary.md."""

from __future__ import annotations

from pathlib import Path

from ...claims.table import read_claims
from ..claims import claim_table

SIGNS = {"held": "pass", "refuted": "fail"}


def claims(run: Path) -> list[dict]:
    """Claims with the class of their sign; none where there is no claims.csv.  Raises EvidenceError on a foreign one."""
    path = run / "claims.csv"
    lines = claim_table(read_claims(path)) if path.is_file() else []
    return [{"line": line, "sign": SIGNS.get(line.outcome, "unknown")} for line in lines]
