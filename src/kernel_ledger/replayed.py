"""Whose captures a replayed run was made from: noted in its verdict, and found again by it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any


def note(run: Path, captures: Path) -> dict[str, Any]:
    """What verdict.json says of captures that are not the run's own; nothing of its own.

    The path is relative to the run, so that both can move together.
    """
    if captures.resolve() == (run / "captures").resolve():
        return {}
    where = Path(os.path.relpath(captures.resolve(), run.resolve())).as_posix()
    return {"replay_of": {"captures": where, "sha256": digest(captures)}}


def captures_of(run: Path, verdict: Mapping[str, Any]) -> Path:
    """The captures behind a run's table: its own, else those that it replayed (which may be gone)."""
    own, replayed = run / "captures", verdict.get("replay_of")
    if replayed is None or (own / "plan.json").is_file():
        return own
    return Path(os.path.normpath(run.resolve() / replayed["captures"]))


def still_the_same(verdict: Mapping[str, Any], captures: Path) -> bool:
    """Whether replayed captures are those that were judged: their folder may have been measured anew."""
    replayed = verdict.get("replay_of")
    return replayed is None or replayed["sha256"] == digest(captures)


def digest(captures: Path) -> str:
    """SHA-256 over the plan and every pass's record, which holds the SHA-256 of that pass's files."""
    names = ["plan.json", *sorted(p.relative_to(captures).as_posix() for p in captures.rglob("run.json"))]
    total = sha256()
    for name in names:
        content = (captures / name).read_bytes()
        total.update(f"{name} {len(content)}\n".encode() + content)
    return total.hexdigest()
