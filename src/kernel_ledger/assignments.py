"""Finds ``NAME=value`` and ``"NAME": "value"`` with a name that looks like a credential, in gigabytes of bytes.

The expression alone takes a second for 10 MB.  So a block is first searched for the few letters that each such name
has, which is a hundred times as fast, and the expression looks only around these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .credentials import WORDS

# Upper case anywhere; any case where an environment block or a cell of a table begins
ASSIGNMENT = re.compile(
    rb"(?:(?<![A-Za-z0-9_])(?P<upper>[A-Z0-9_]{0,64}?(?:%(words)s)[A-Z0-9_]{0,64})"
    rb"|(?<=\x00)(?P<any>(?i:[a-z0-9_]{0,64}?(?:%(words)s)[a-z0-9_]{0,64})))"
    rb'(?:=|"\s{0,2}:\s{0,2}(?="))"?(?P<value>[^\s\x00"\']{1,4096})'
    % {b"words": "|".join((*WORDS, "AUTH")).encode()}
)
LETTERS = (b"TOKEN", b"SECRET", b"PASS", b"KEY", b"CREDENTIAL", b"AUTH")
"""Each of credentials.WORDS has one of these."""
BEHIND = rb'[A-Z0-9_]{0,80}(?:=|"\s{0,2}:\s{0,2}")'  # what follows the letters where there is an assignment
HINTS = {letters: re.compile(letters + BEHIND) for letters in LETTERS}
HINTS_OF_ANY_CASE = {letters: re.compile((letters + BEHIND.replace(b"A-Z", b"a-z")).replace(letters, letters.lower()))
                     for letters in LETTERS}  # fmt: skip
BEFORE = 256  # more than a name is long
LONGEST = 8192  # more than an assignment is long, name and value


def assignments(block: bytes, begin: int = 0) -> Iterator[re.Match[bytes]]:
    """The matches of ASSIGNMENT from ``begin`` on."""
    for start, end in around(block):
        yield from ASSIGNMENT.finditer(block, max(begin, start), end)


def around(block: bytes) -> Iterator[tuple[int, int]]:
    """Stretches, in order and apart from each other, outside of which there is no assignment."""
    any_case = b"\0" in block
    text, hints = (block.lower(), HINTS_OF_ANY_CASE) if any_case else (block, HINTS)
    places = []
    for letters, hint in hints.items():
        if (letters.lower() if any_case else letters) in text:
            places += [match.end() for match in hint.finditer(text)]
    start = end = None
    for place in sorted(places):
        if end is not None and place - BEFORE <= end:
            end = place + LONGEST
            continue
        if end is not None:
            yield start, end
        start, end = max(0, place - BEFORE), place + LONGEST
    if end is not None:
        yield start, end
