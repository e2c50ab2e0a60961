"""What was asked for and not measured, since this machine cannot run it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...files import read_json
from ..numbers import code, text


def absent_lines(path: Path) -> Iterator[str]:
    """``path``: plan.json."""
    plan = read_json(path, format=1)
    found = [f"- {code(left['workload'])}: {text(left['reason'])}" for left in plan.get("left_out", ())]
    for case in plan["cases"]:
        for variant, reason in case.get("left_out", {}).items():
            found.append(f"- {code(case['workload'] + '/' + variant)}: {text(reason)}")
    if found:
        yield from ["", "## Left out on this machine", "", *dict.fromkeys(found)]
