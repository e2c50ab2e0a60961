"""The content of files as blocks of bytes to search: as it is, unzipped, and the text of each column of a database.

A large file comes in several blocks, each of which begins with the last bytes of the one before, so that nothing
that is not longer than these is cut in two.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from isal import isal_zlib

from .errors import EvidenceError
from .nsys.database import all_text

BLOCK = 1 << 24
READ = 1 << 18  # of a file at once
GZIP = isal_zlib.MAX_WBITS | 16


@dataclass(frozen=True)
class Block:
    """``where``: table and column, "" for a file as a whole.  ``begun``: bytes that the block before had too;
    ``last``: no block follows."""

    where: str
    content: bytes
    begun: int = 0
    last: bool = True


def blocks(path: Path, shared: int, size: int = BLOCK) -> Iterator[Block]:
    """The blocks of a file.  ``shared``: bytes that two neighbours have in common; ``size``: of a block, about."""
    if path.suffix == ".gz":
        yield from joined("", unzipped(path), shared, size)
        return
    yield from joined("", pieces(path), shared, size)
    if path.suffix == ".sqlite" and path.stat().st_size:
        columns: dict[tuple[str, str], list[bytes]] = {}
        for table, column, text in readable(path):
            columns.setdefault((table, column), []).append(b"\x00" + text.encode(errors="surrogateescape"))
        for (table, column), texts in columns.items():
            yield from joined(f"{table}.{column}", texts, shared, size)


def joined(where: str, parts: Iterable[bytes], shared: int, size: int) -> Iterator[Block]:
    """Parts put together until they are as long as a block."""
    held, length, begun = [], 0, 0
    for part in parts:
        held.append(part)
        length += len(part)
        if length >= size:
            content = b"".join(held)
            yield Block(where, content, begun, last=False)
            held = [content[-shared:]]
            length = begun = len(held[0])
    yield Block(where, b"".join(held), begun)


def pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        while data := stream.read(READ):
            yield data


def readable(path: Path) -> Iterator[tuple[str, str, str]]:
    """The text of a database; nothing more of a damaged one, which other checks name."""
    try:
        yield from all_text(path)
    except (EvidenceError, sqlite3.Error):
        return


def unzipped(path: Path) -> Iterator[bytes]:
    """The content of a gzip file as far as it is whole, then the file itself where it is not."""
    engine = isal_zlib.decompressobj(GZIP)
    try:
        for data in pieces(path):
            while data:
                if engine.eof:  # a file may hold several members
                    engine = isal_zlib.decompressobj(GZIP)
                yield engine.decompress(data)
                data = engine.unused_data
    except isal_zlib.error:
        yield from pieces(path)
