"""claims.csv: one row for each claim of each case, in the plan's order."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import EvidenceError
from ..reconcile.table import cell
from .declared import Claim
from .functions import Case
from .trial import try_claim

COLUMNS = (
    "workload",
    "case",
    "claim",
    "sentence",
    "expression",
    "measured",
    "outcome",
    "refuted_by",
    "reason",
    "source",
)


def claim_rows(
    cases: Sequence[tuple[Mapping[str, Any], Sequence[Claim]]], rows: Sequence[dict], captures: Path
) -> list[dict[str, str]]:
    """Try all claims.  ``cases``: entries of plan.json with their claims; ``rows``: of results.csv."""
    found = []
    for planned, claims in cases:
        key = planned["workload"], planned["case"]
        own = [
            row for row in rows if (row["workload"], row["case"], row["rank"]) == (*key, 0)
        ]  # of a group: the first
        evidence = Case(own, captures / key[0] / key[1])
        for claim in claims:
            outcome = try_claim(claim, evidence)
            found.append(
                {
                    "workload": key[0],
                    "case": key[1],
                    "claim": claim.id,
                    "sentence": claim.sentence,
                    "expression": " ".join(claim.expression.split()),
                    "measured": outcome.measured,
                    "outcome": outcome.outcome,
                    "refuted_by": claim.refuted_by,
                    "reason": outcome.reason,
                    "source": outcome.source,
                }
            )
    return found


def claims_text(rows: Sequence[Mapping[str, str]]) -> str:
    """claims.csv as text; what a spreadsheet would run as a formula is kept from it, as in results.csv."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([cell(row[name]) for name in COLUMNS] for row in rows)
    return stream.getvalue()


def read_claims(path: Path) -> list[dict[str, str]]:
    """Read claims.csv.  Raises EvidenceError where it has other columns."""
    with path.open(newline="", encoding="utf-8") as stream:
        reader = csv.DictReader(stream)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise EvidenceError(
                "this is no table of claims", where=path, expected=", ".join(COLUMNS), found=reader.fieldnames
            )
        return list(reader)
