"""Reads traceEvents part by part, so that memory is bounded by a setting and not by the file.

A part may end wherever an event seems to end.  It is then decoded as a list of its own, and a JSON list decodes
only if it is complete: a part that was cut within an event fails, and is cut again further on.  So no rule about
how a trace is laid out is needed for the result, only for the speed.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from isal import igzip, isal_zlib

from ..errors import EvidenceError
from ..progress import Counted, progress
from .events import Event

NEXT = "record the torch pass of this variant again"
CHUNK_BYTES = 1 << 18  # what a core has in its cache: parts of 1 MB take half as long again
MOST_BYTES = 1 << 28
LONGEST_KEY = 1 << 12
PACKING_ERRORS = (EOFError, gzip.BadGzipFile, zlib.error, isal_zlib.error)
BEGIN = re.compile(rb'"traceEvents"\s*:\s*\[')
SEAMS = (b"\n  },\n  {", b"}, {", b"},{", b"},\n")
"""How writers of traces part events: Kineto, then Python's json with and without spaces, then by lines."""


class Distributed(msgspec.Struct):
    """What a process of a group says of itself."""

    rank: int | None = None


@dataclass
class Stream:
    """Events of one file.  ``said``: what Kineto's own logger put beside the events, once all were read;
    ``epoch``: Unix time in ns from which it counts; ``rank``: of the process, in a group; ``devices``: JSON of the
    GPUs' properties.

    ``chunk_bytes``: text decoded at once; memory grows with it, an event longer than it is read all the same.
    """

    path: Path
    event: type[msgspec.Struct]
    chunk_bytes: int = CHUNK_BYTES
    said: list[str] = field(default_factory=list)
    epoch: int | None = None
    rank: int | None = None
    devices: bytes = b""

    def __iter__(self) -> Iterator[list[Any]]:
        """Lists of events.  Raises EvidenceError for a file that is missing, truncated, or no trace."""
        try:
            with opened(self.path) as stream, progress(f"reading {self.path.name}", length(self.path)) as bar:
                yield from self.lists(Counted(stream, bar))
        except FileNotFoundError:
            raise EvidenceError("there is no trace", where=self.path, next_step=NEXT) from None
        except PACKING_ERRORS as error:
            raise EvidenceError(
                "the trace is truncated or not gzip", where=self.path, found=error, next_step=NEXT
            ) from error
        except msgspec.MsgspecError as error:
            raise EvidenceError(
                "this is not a Kineto trace", where=self.path, found=error, next_step=NEXT
            ) from error

    def lists(self, stream: BinaryIO) -> Iterator[list[Any]]:
        text, begun = self.head(stream)
        if not begun:
            yield self.last(text)
            return
        decoder, due = msgspec.json.Decoder(list[self.event]), 0
        while data := stream.read(max(self.chunk_bytes, due - len(text))):
            text += data
            for end in seams(text):
                try:
                    events = decoder.decode(text[:end] + b"]")
                except msgspec.ValidationError:
                    raise
                except msgspec.DecodeError:
                    continue
                text, due = b"[" + text[end + 1 :], 0
                yield events
                break
            else:
                due = self.longer(text)
        yield self.last(b'{"traceEvents":' + text)

    def longer(self, text: bytes) -> int:
        """How much text to try next.  Raises EvidenceError where that would be too much."""
        if len(text) > MOST_BYTES:
            raise EvidenceError(
                "no event ends in a long stretch of this trace",
                where=self.path,
                found=f"{len(text)} bytes without the end of an event",
                next_step=NEXT,
            )
        return 2 * len(text)

    def head(self, stream: BinaryIO) -> tuple[bytes, bool]:
        """(the text from the bracket that opens traceEvents on, True), or (the whole text, False) where none does."""
        text, at = b"", 0
        while data := stream.read(self.chunk_bytes):
            text += data
            while match := BEGIN.search(text, at):
                at = match.end()
                try:
                    before = msgspec.json.decode(text[:at] + b"]}", type=dict[str, msgspec.Raw])
                except msgspec.DecodeError:
                    continue  # these words stood in a text, or deeper
                self.note(before)
                return text[at - 1 :], True
            at = max(at, len(text) - LONGEST_KEY)
        return text, False

    def last(self, text: bytes) -> list[Any]:
        """The events of the rest of the file, and what stands after them."""
        whole = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        if "traceEvents" not in whole:
            raise msgspec.ValidationError("Object missing required field `traceEvents`")
        self.note(whole)
        return msgspec.json.decode(whole["traceEvents"], type=list[self.event])

    def note(self, beside: Mapping[str, msgspec.Raw]) -> None:
        """Keep what stands beside the events."""
        said = (beside.get("WARNING"), beside.get("ERROR"))
        self.said += [str(value) for raw in said if raw and (value := msgspec.json.decode(raw))]
        if "deviceProperties" in beside:
            self.devices = bytes(beside["deviceProperties"])
        if "baseTimeNanoseconds" in beside:
            self.epoch = msgspec.json.decode(beside["baseTimeNanoseconds"], type=int)
        if "distributedInfo" in beside:
            self.rank = msgspec.json.decode(beside["distributedInfo"], type=Distributed).rank


def opened(path: Path) -> BinaryIO:
    """The JSON text of a trace, gzipped or not."""
    with path.open("rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    return igzip.open(path, "rb") if packed else path.open("rb")


def length(path: Path) -> int:
    """Bytes of text in a trace; of a packed one as its last four bytes say, which is right below 4 GB."""
    with path.open("rb") as stream:
        if stream.read(2) != b"\x1f\x8b":
            return path.stat().st_size
        stream.seek(max(0, path.stat().st_size - 4))
        return int.from_bytes(stream.read(4), "little")


def seams(text: bytes) -> Iterator[int]:
    """Places of a comma that may part two events, the likeliest first."""
    for seam in SEAMS:
        if (at := text.rfind(seam)) >= 0:
            yield at + seam.index(b",")


@dataclass(frozen=True)
class Trace:
    """All complete ("X") events of a file at once, for readers of small traces."""

    traceEvents: list[Any]


def decode(path: Path, event: type[msgspec.Struct] = Event) -> Trace:
    """A trace with its complete events.  Raises EvidenceError as Stream does."""
    return Trace([one for events in Stream(path, event) for one in events if one.ph == "X"])


def read_bytes(path: Path) -> bytes:
    """The whole JSON text of a trace, gzipped or not.  Raises EvidenceError on a missing or truncated file."""
    try:
        with opened(path) as stream:
            return stream.read()
    except FileNotFoundError:
        raise EvidenceError("there is no trace", where=path, next_step=NEXT) from None
    except PACKING_ERRORS as error:
        raise EvidenceError(
            "the trace is truncated or not gzip", where=path, found=error, next_step=NEXT
        ) from error
