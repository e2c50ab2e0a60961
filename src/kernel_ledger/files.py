"""Files that outlive a run: hashed, and written so that no half of one is ever seen."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from glob import escape
from pathlib import Path
from typing import Any

from .errors import EvidenceError
from .liveness import lives

CHUNK = 1 << 20


def sha256(path: Path) -> str:
    """SHA-256 of a file as 64 hex digits."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def publish(temporary: Path, final: Path) -> None:
    """Give a finished file its name: synced first, so that a crash leaves the old file or the new one."""
    with temporary.open("rb+") as stream:
        os.fsync(stream.fileno())
    final.parent.mkdir(parents=True, exist_ok=True)
    os.replace(temporary, final)


def temporary_for(path: Path) -> Path:
    """Where to write a file before it is published, in its folder; what killed writers of it left there goes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob(f".{escape(path.name)}.*.partial"):
        if (pid := left.name.split(".")[-2]).isdigit() and not lives(int(pid)):
            left.unlink(missing_ok=True)
    return path.with_name(f".{path.name}.{os.getpid()}.partial")


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    temporary = temporary_for(path)
    temporary.write_bytes(content)
    publish(temporary, path)


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all (UTF-8, newlines as given)."""
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    """Write JSON (indented, keys in the order given; NaN and Infinity are refused)."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def require_recorded(folder: Path, recorded: Mapping[str, str]) -> None:
    """Raise EvidenceError unless each of these files (name -> SHA-256) is as it was recorded."""
    for name, digest in recorded.items():
        if not (folder / name).is_file() or sha256(folder / name) != digest:
            raise EvidenceError(
                "this file is missing, or not the one that was judged",
                where=folder / name,
                expected=f"SHA-256 {digest}",
                next_step="run snakemake again, so that the table and its verdict are made anew",
            )


def read_json(path: Path, *, format: int | None = None) -> Any:
    """Read JSON; with ``format``, refuse a file whose format number differs.  Raises EvidenceError."""
    try:
        value = json.loads(path.read_text())
    except FileNotFoundError:
        raise EvidenceError(
            "this file is missing", where=path, next_step="run the pass that writes it again"
        ) from None
    except (ValueError, OSError) as error:
        raise EvidenceError("this file cannot be read as JSON", where=path, found=error) from error
    if format is not None and (not isinstance(value, dict) or value.get("format") != format):
        found = value.get("format") if isinstance(value, dict) else type(value).__name__
        raise EvidenceError(
            "this file has another format", where=path, expected=f"format {format}", found=found
        )
    return value
