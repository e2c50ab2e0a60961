"""The gate: a run passes when its verdict is verified, and is stopped with the reasons when it is not."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import LedgerError

REASON_CHARACTERS = 240


class NotVerified(LedgerError):
    """The run was measured and judged, and the judgement is not `verified`."""

    exit_status = 1


def require_verified(verdict: Mapping[str, Any], where: Path) -> None:
    """Raise NotVerified with every check that failed or could not be made, unless the verdict is verified."""
    if verdict["verdict"] == "verified":
        return
    open_checks = [check for check in verdict["checks"] if check["status"] in ("fail", "unknown")]
    lines = [f"\n            {c['id']}: {c['status']}: {short(c.get('reason'))}" for c in open_checks]
    raise NotVerified(
        f"the verdict is {verdict['verdict']}, so this run does not count",
        where=where,
        expected="verified",
        found=f"{len(lines)} of {len(verdict['checks'])} checks not passed{''.join(lines)}",
        next_step=f"read {where.with_name('summary.md')}; every row is in {where.with_name('results.csv')}",
    )


def short(reason: str | None) -> str:
    """A reason on one line of a terminal or two; verdict.json has the whole of it."""
    printable = "".join(c if c.isprintable() else " " for c in reason or "no reason given")
    return textwrap.shorten(printable, REASON_CHARACTERS, placeholder=" […]")
