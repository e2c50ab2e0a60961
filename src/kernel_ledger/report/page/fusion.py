"""What fusing would gain and did gain in one case: the section of summary.md, with the case's own rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .. import fusion
from ..run_csv import read_rows


@dataclass(frozen=True)
class FusionTable:
    """``columns``: (title, whether numbers stand in it); cells are text."""

    columns: list[tuple[str, bool]]
    rows: list[list[str]]


@dataclass(frozen=True)
class Fusion:
    """Without candidates ``notes`` is the sentence that says so, and there is nothing else."""

    candidates: FusionTable | None
    notes: list[str]
    achieved: FusionTable | None
    explained: list[tuple[str, str]]


def fusion_of(run: Path, workload: str, case: str) -> Fusion | None:
    """A case's part of fusion.csv and fusion_achieved.csv; None where the first has nothing of it."""
    rows, achieved = (
        [r for r in read_rows(run / name) if (r["workload"], r["case"]) == (workload, case)]
        for name in ("fusion.csv", "fusion_achieved.csv")
    )
    found = fusion.candidates(rows)
    if not rows:
        return None
    if not found:
        return Fusion(None, [fusion.NONE], None, [])
    notes = [fusion.moved(found)]
    if fusion.any_assumed(found):
        notes.append(fusion.ASSUMED.replace("`", ""))
    if library := fusion.libraries(rows):
        more = " and others" if len(library) > fusion.MOST else ""
        notes.append(f"Not worth rewriting (library kernels): {', '.join(library[: fusion.MOST])}{more}.")
    return Fusion(
        table(fusion.CANDIDATES, found[: fusion.MOST], fusion.candidate_cells),
        notes,
        table(fusion.ACHIEVED, achieved, fusion.achieved_cells) if achieved else None,
        [(row["variant"], row["explanation"]) for row in achieved],
    )


def table(header: tuple[str, ...], rows: list[fusion.Row], cells) -> FusionTable:
    """A table whose first column is the variant alone: the case is the section's."""
    columns = [("variant", False), *((title, title not in fusion.TEXTS) for title in header[1:])]
    return FusionTable(columns, [[row["variant"], *cells(row)[1:]] for row in rows])
