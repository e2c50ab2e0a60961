"""Searches what a pass or an export left behind for secrets: a .nsys-rep holds environments.

Two searches: for the values of variables that were withheld from the measured process, and for names that
look like credentials with a value behind them.  A finding names the variable, the file and the place, and
never the value.  What an .nsys-rep holds is compressed, so its bytes may hide what its export shows.
"""

from __future__ import annotations

import re
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from .assignments import LONGEST, assignments
from .credentials import Needle, is_trivial, looks_like_credential
from .errors import EvidenceError
from .leak_blocks import Block, blocks
from .nsys.database import Reader, connect

VALUE = "the value of a variable that was withheld"
NAME = "a name that looks like a credential, with a value"
NAME_COLUMN = re.compile(r"(?:name|key|variable|var)$", re.IGNORECASE)
VALUE_COLUMN = re.compile(r"(?:value|val|text|content|data|string)$", re.IGNORECASE)
IDENTIFIER = re.compile(r"[A-Za-z0-9_.-]{1,128}")
ADVICE = (
    "do not share this capture; if it was shared, revoke the secret; then let nsys record apart from other "
    "processes (util-linux's unshare and user namespaces: `make doctor` says what is missing), or start from a "
    'shell that never had it (`exec env -i PATH="$PATH" HOME="$HOME" bash`), and measure again; a name '
    "whose value anybody may see can be listed under `environment:` in config.yaml"
)


@dataclass(frozen=True, order=True)
class Leak:
    """``file``: within the folder that was searched; ``where``: table and column, "" for a file as a whole."""

    variable: str
    file: str
    where: str
    what: str

    @property
    def place(self) -> str:
        return f"{self.file} ({self.where})" if self.where else self.file


def sentences(leaks: Iterable[Leak]) -> list[str]:
    """One sentence for each variable, credentials first."""
    places: dict[tuple[str, str], list[str]] = {}
    for leak in sorted(leaks, key=lambda leak: (not looks_like_credential(leak.variable), leak)):
        places.setdefault((leak.variable, leak.what), []).append(leak.place)
    return [f"{what}, {variable}, stands in {', '.join(found)}" for (variable, what), found in places.items()]


def search(folder: Path, needles: Sequence[Needle] = (), allowed: Iterable[str] = ()) -> list[Leak]:
    """All leaks in the files of a folder and those below it, in a fixed order; hidden files are left out.

    ``allowed``: names that the configuration lets through; they are no finding.
    """
    allowed, found = set(allowed), set()
    shared = max([LONGEST, *(len(form) for needle in needles for form in needle.forms)])
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in inside.parts):
            told = {
                (block.where, *leak)
                for block in blocks(path, shared)
                for leak in leaks_in(block, needles, allowed)
            }
            for where, variable, what in told:
                if what == VALUE or (where, variable, VALUE) not in told:
                    found.add(Leak(variable, inside.as_posix(), where, what))
            for variable, where in beside(path, allowed):
                found.add(Leak(variable, inside.as_posix(), where, NAME))
    placed = {(leak.variable, leak.file) for leak in found if leak.where}
    return sorted(leak for leak in found if leak.where or (leak.variable, leak.file) not in placed)


def warn(folder: Path, leaks: Sequence[Leak]) -> None:
    """Say on standard error what was found, and that nothing in this folder may be shared."""
    if leaks:
        told = "".join(f"  {sentence}\n" for sentence in sentences(leaks))
        text = f"WARNING: SECRETS IN {folder}: the run will be refuted\n{told}  next: {ADVICE}"
        print(text, file=sys.stderr, flush=True)


def as_json(leaks: Iterable[Leak]) -> list[dict[str, str]]:
    """What export.json and run.json hold of leaks."""
    return [asdict(leak) for leak in leaks]


def beside(path: Path, allowed: set[str]) -> Iterator[tuple[str, str]]:
    """(variable, table and column) of values in a database whose name stands in another cell of their row."""
    if path.suffix != ".sqlite":
        return
    try:
        with closing(connect(path)) as connection:
            connection.text_factory = lambda text: text.decode(errors="surrogateescape")
            reader = Reader(connection, path)
            for table, columns in sorted(reader.columns.items()):
                named = [c for c in columns if NAME_COLUMN.search(c)]
                valued = [c for c in columns if VALUE_COLUMN.search(c)]
                for row in reader.rows(table, only=(*named, *valued)) if named and valued else ():
                    for name in {text_of(row[c]) for c in named} - allowed:
                        if IDENTIFIER.fullmatch(name) and looks_like_credential(name):
                            yield from (
                                (name, f"{table}.{c}")
                                for c in valued
                                if not is_trivial(name, text_of(row[c]))
                            )
    except (EvidenceError, sqlite3.Error):
        return


def text_of(cell: object) -> str:
    """A cell as text; "" for a number or for nothing."""
    return (
        cell.decode(errors="surrogateescape")
        if isinstance(cell, bytes)
        else cell
        if isinstance(cell, str)
        else ""
    )


def leaks_in(block: Block, needles: Sequence[Needle], allowed: set[str]) -> Iterator[tuple[str, str]]:
    """(variable, what) of each finding in one block of bytes."""
    content = block.content
    known = {needle.variable for needle in needles if any(form in content for form in needle.forms)}
    yield from ((variable, VALUE) for variable in known)
    # the first byte of a block that goes on is only looked back at, and what its last byte may have cut comes again
    for match in assignments(content, 1 if block.begun else 0):
        if match.end() == len(content) and not block.last:
            continue
        name = (match["upper"] or match["any"]).decode()
        value = match["value"].decode(errors="replace")
        if looks_like_credential(name) and name not in allowed | known and not is_trivial(name, value):
            yield name, NAME
