"""How long the jobs of a run took, rule by rule, from what Snakemake notes beside each output."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from ..errors import EvidenceError
from ..files import read_json

METADATA = Path(".snakemake") / "metadata"


def rule_seconds(since: float, metadata: Path = METADATA) -> dict[str, float]:
    """Rule -> wall seconds in which a job of it ran, of jobs that began after ``since`` (seconds of the epoch).

    The longest first.  With one core no two jobs overlap, and what the sum lacks to the whole run is Snakemake.
    """
    spans = defaultdict(set)
    for path in metadata.rglob("*"):
        try:
            noted = read_json(path) if path.is_file() else {}
        except EvidenceError:  # a note of a killed job
            continue
        if noted.get("starttime") and noted.get("endtime") and noted["starttime"] >= since:
            spans[noted["rule"]].add((noted["starttime"], noted["endtime"]))
    found = {rule: covered(own) for rule, own in spans.items()}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """Length of the union of spans; the outputs of one job have each a span of their own."""
    total, end = 0.0, float("-inf")
    for start, stop in sorted(spans):
        total += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return total
