"""Folders of results that are seen whole or not at all."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from .files import publish
from .liveness import lives

NAME = re.compile(r"\.(?:partial|old)-(?P<label>.+)-(?P<pid>\d+)")


@contextlib.contextmanager
def partial_folder(beside: Path, label: str) -> Iterator[Path]:
    """A fresh folder in ``beside`` to write into; what is still in it at the end is removed.

    What killed runs left there under the same label is removed first.
    """
    beside.mkdir(parents=True, exist_ok=True)
    remove_leftovers(beside, label)
    folder = beside / f".partial-{label}-{os.getpid()}"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers(beside: Path, label: str) -> None:
    """Remove folders of this label whose process is gone (or was an earlier one with our number)."""
    for folder in beside.iterdir():
        match = NAME.fullmatch(folder.name)
        owner = int(match["pid"]) if match and match["label"] == label else None
        if owner is not None and (owner == os.getpid() or not lives(owner)):
            shutil.rmtree(folder, ignore_errors=True)


def publish_folder(partial: Path, final: Path) -> None:
    """Give a finished folder its name in place of an older one, which is removed with all that lies in it."""
    for path in partial.iterdir():
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
    aside = partial.with_name(partial.name.replace(".partial-", ".old-", 1))
    final.parent.mkdir(parents=True, exist_ok=True)
    if final.exists():
        os.rename(final, aside)
    os.rename(partial, final)
    sync_folder(final.parent)
    shutil.rmtree(aside, ignore_errors=True)


def publish_files(partial: Path, final: Path, names: list[str]) -> None:
    """Give finished files their names in a folder that holds others; the last of ``names`` comes last."""
    (final / names[-1]).unlink(missing_ok=True)  # an older record must not vouch for newer files
    for name in names:
        publish(partial / name, final / name)
    sync_folder(final)


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
