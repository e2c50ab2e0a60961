"""A balance that rests on doubtful evidence is not quoted: its rows are unknown, not verified."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..checks.outcome import FAIL, Outcome
from .rows import Row, say

WHOLE_CASE = ("subscriber", "structure", "export", "sameness", "numerics", "ruler", "clocks", "freshness")
"""Checks of what the rows rest on.  The others judge the rows themselves."""


def withhold(rows: Iterable[Row], outcomes: Mapping[str, Outcome]) -> None:
    """Take ``verified`` from the rows of one case whose evidence failed a check, and say which one."""
    failed = {name: outcomes[name] for name in WHOLE_CASE if outcomes[name].status == FAIL}
    for row in rows:
        checks = [
            name
            for name, o in failed.items()
            if o.spoils is None or not row["variant"] or row["variant"] in o.spoils
        ]
        if row["status"] == "verified" and checks:
            row["status"] = "unknown"
            say(row, [f"not quoted: {', '.join(checks)} failed, see verdict.json"])
