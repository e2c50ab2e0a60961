"""Searches what a pass or an export left behind for secrets: a .nsys-rep holds environments.

Two searches: for the values of variables that were withheld from the measured process, and for names that
look like credentials with a value behind them.  A finding names the variable, the file and the place, and
never the value.  What an .nsys-rep holds is compressed, so its bytes may hide what its export shows.
"""

from __future__ import annotations

import re
import sqlite3
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from .credentials import WORDS, Needle, is_trivial, looks_like_credential
from .errors import EvidenceError
from .nsys.database import Reader, all_text, connect

VALUE = "the value of a variable that was withheld"
NAME = "a name that looks like a credential, with a value"
# Upper case anywhere; any case where an environment block or a cell of a table begins
ASSIGNMENT = re.compile(
    rb"(?:(?<![A-Za-z0-9_])(?P<upper>[A-Z0-9_]{0,64}?(?:%(words)s)[A-Z0-9_]{0,64})"
    rb"|(?<=\x00)(?P<any>(?i:[a-z0-9_]{0,64}?(?:%(words)s)[a-z0-9_]{0,64})))"
    rb'(?:=|"\s{0,2}:\s{0,2}(?="))"?(?P<value>[^\s\x00"\']{1,4096})'
    % {b"words": "|".join((*WORDS, "AUTH")).encode()}
)
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
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in inside.parts):
            for where, block in blocks(path):
                for variable, what in leaks_in(block, needles, allowed):
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


def blocks(path: Path) -> Iterator[tuple[str, bytes]]:
    """(place, bytes) of a file: as it is, unzipped, and the text of each column of a database."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        yield "", unzipped(content)
        return
    yield "", content
    if path.suffix == ".sqlite" and content:
        columns: dict[tuple[str, str], list[bytes]] = {}
        for table, column, text in readable(path):
            columns.setdefault((table, column), []).append(text.encode(errors="surrogateescape"))
        for (table, column), texts in columns.items():
            yield f"{table}.{column}", b"".join(b"\x00" + text for text in texts)


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


def readable(path: Path) -> Iterator[tuple[str, str, str]]:
    """The text of a database; nothing more of a damaged one, which other checks name."""
    try:
        yield from all_text(path)
    except (EvidenceError, sqlite3.Error):
        return


def unzipped(content: bytes) -> bytes:
    """The content of a gzip file, as far as it is whole."""
    engine, parts = zlib.decompressobj(zlib.MAX_WBITS | 16), []
    try:
        parts.append(engine.decompress(content))
        while engine.eof and engine.unused_data:
            rest, engine = engine.unused_data, zlib.decompressobj(zlib.MAX_WBITS | 16)
            parts.append(engine.decompress(rest))
    except zlib.error:
        parts.append(content)
    return b"".join(parts)


def leaks_in(block: bytes, needles: Sequence[Needle], allowed: set[str]) -> Iterator[tuple[str, str]]:
    """(variable, what) of each finding in one block of bytes."""
    known = {needle.variable for needle in needles if any(form in block for form in needle.forms)}
    yield from ((variable, VALUE) for variable in known)
    for match in ASSIGNMENT.finditer(block):
        name = (match["upper"] or match["any"]).decode()
        value = match["value"].decode(errors="replace")
        if looks_like_credential(name) and name not in allowed | known and not is_trivial(name, value):
            yield name, NAME
