"""Records that a profiler lost and told of: in its log, in its trace, or in its own diagnostics.

The tools say so in passing and exit with status 0.  A healthy recording carries warnings too ("Not all CUDA
events might have been collected."), so only the messages below count; the launch counts catch the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

MESSAGES = re.compile(
    r"dropped [1-9]\d*[^\n]*\b(?:record|event|activit)"  # Kineto, CUPTI
    r"|\b(?:records?|events?|activit\w+)\b[^\n]*\b(?:was|were|been|being) (?:dropped|lost)"  # nsys
    r"|out-of-range = [1-9]\d*"  # Kineto's record counts
    r"|gpu stopped early\? = (?:1|true)|collection was stopped early|exceeded max gpu buffer count"  # Kineto
    r"|errors? occurred while processing the raw events",  # nsys older than the driver
    re.IGNORECASE,
)


def lost_records(texts: Iterable[str]) -> Iterator[str]:
    """The lines of ``texts`` in which a profiler says that records are lost, each once."""
    lines = (line.strip() for text in texts for line in text.splitlines() if MESSAGES.search(line))
    yield from dict.fromkeys(line[-200:] for line in lines)
