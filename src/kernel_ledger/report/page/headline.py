"""The headline table of a case, and one line a case for the overview: both with the numbers of summary.md."""

from __future__ import annotations

from ..headline import HeadlineTable, headline_table
from ..numbers import MISSING, duration, quotient, ratio
from .read import Case


def headline(case: Case, device: str) -> HeadlineTable | None:
    """The table that summary.md has."""
    references = {variant for variant in case.variants if case.is_reference(variant)}
    return headline_table([row for row in case.rows if row["rank"] == 0], device, references)


def medians(case: Case, level: str, column: str) -> dict[str, float | None]:
    return {row["variant"]: row[column] for row in case.level(level) if row["variant"] and row["rank"] == 0}


def overview_line(case: Case) -> dict:
    """The first variant, the one of the chain with the fastest block, and how many rows have which status."""
    blocks = medians(case, "block", "event_median_ns")
    chains = medians(case, "chain", "nsys_median_ns")
    first = next(iter(blocks), None)
    base = chains.get(first)
    rivals = [
        v for v in list(blocks)[1:] if blocks[v] and base and chains.get(v) and not case.is_reference(v)
    ]
    best = min(rivals, key=lambda v: blocks[v], default=None)
    block, chain = quotient(blocks.get(first), blocks.get(best)), quotient(base, chains.get(best))
    statuses: dict[str, int] = {}
    for row in case.rows:
        statuses[row["status"]] = statuses.get(row["status"], 0) + 1
    return {
        "workload": case.workload,
        "case": case.case,
        "first": first or MISSING,
        "first_time": (duration(blocks.get(first)), blocks.get(first)),
        "best": best or MISSING,
        "best_time": (duration(blocks.get(best)), blocks.get(best)),
        "block": (ratio(block), block),
        "chain": (ratio(chain), chain),
        "statuses": ", ".join(f"{count} {status}" for status, count in sorted(statuses.items())) or "no row",
        "good": set(statuses) <= {"verified", "not_applicable"} and bool(statuses),
    }
