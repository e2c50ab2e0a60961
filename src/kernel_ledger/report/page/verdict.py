"""The verdict and its checks as the page lists them."""

from __future__ import annotations

from ..summary import SENTENCES
from .read import Run

SIGNS = {"pass": "✓", "fail": "✗", "unknown": "?", "not_applicable": "–"}
WORDS = {"pass": "pass", "fail": "fail", "unknown": "could not be made", "not_applicable": "not applicable"}
HOLDS = {
    "subscriber": "no other profiler was in a clean pass, and exactly nsys in the nsys pass",
    "conservation": "launches announced by the program = counted by torch = counted by nsys",
    "identity": "every kernel of one book has exactly one partner in the other",
    "agreement": "durations of one kernel agree between the books",
    "structure": "no time is negative, clamped, overlapping, or before its launch",
    "export": "each nsys table is complete and was exported from this very report",
    "sameness": "machine, versions, code, seed and shapes are the same in all passes",
    "numerics": "every variant computes what the first one does",
    "ruler": "kernels with known counts, grids and least durations come out right",
    "clocks": "nothing throttled the GPU, and no other process computed on it",
    "freshness": "every file is the one that its pass wrote",
}
SHOWN_FILES = 40
SHOWN_CASES = 8


def checks(run: Run) -> list[dict]:
    """One entry a check, with everything that the template prints."""
    return [entry(check) for check in run.verdict["checks"]]


def entry(check: dict) -> dict:
    measured = list((check["measured"] or {}).items())
    evidence = check["evidence"]
    return {
        "id": check["id"],
        "status": check["status"],
        "sign": SIGNS.get(check["status"], "?"),
        "word": WORDS.get(check["status"], check["status"]),
        "holds": HOLDS.get(check["id"], ""),
        "limit": check["limit"],
        "reason": check["reason"],
        "measured": measured[:SHOWN_CASES],
        "more_measured": max(0, len(measured) - SHOWN_CASES),
        "evidence": evidence[:SHOWN_FILES],
        "more_evidence": max(0, len(evidence) - SHOWN_FILES),
    }


def sentence(run: Run) -> str:
    return SENTENCES.get(run.verdict["verdict"], "")


def unbalanced(run: Run, numbers: dict[tuple[str, str], int]) -> list[dict]:
    """Rows that are neither verified nor beside the point; ``numbers``: (workload, case) -> section."""
    odd = [r for r in run.rows if r["status"] not in ("verified", "not_applicable")]
    return [row | {"section": numbers[row["workload"], row["case"]]} for row in odd]
