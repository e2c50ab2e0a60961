"""The end of summary.md: what fusing would gain, what it did gain, and the custom kernels; from the run folder's CSVs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from . import fusion
from .fusion import Row
from .numbers import MISSING, code, table, text
from .run_csv import read_rows


def insight_section(folder: Path) -> str:
    """Markdown text; empty where the run has none of these files or nothing is in them."""
    lines = [
        *fusion_lines(read_rows(folder / "fusion.csv")),
        *achieved_lines(read_rows(folder / "fusion_achieved.csv")),
        *kernel_lines(read_rows(folder / "kernels.csv")),
    ]
    return "\n" + "\n".join(lines) + "\n" if lines else ""


def fusion_lines(rows: Sequence[Row]) -> Iterator[str]:
    """The best candidates of the run by what they would gain of a whole call."""
    found = fusion.candidates(rows)
    if not rows:
        return
    yield from ("## Fusion candidates", "")
    if not found:
        yield from (fusion.NONE, "")
        return
    yield from markdown(fusion.CANDIDATES, map(fusion.candidate_cells, found[: fusion.MOST]))
    yield from ("", fusion.moved(found))
    if fusion.any_assumed(found):
        yield from ("", fusion.ASSUMED)
    if library := fusion.libraries(rows):
        named = ", ".join(map(code, library[: fusion.MOST])) + (
            " and others" if len(library) > fusion.MOST else ""
        )
        yield from ("", f"Not worth rewriting (library kernels): {named}.")
    yield ""


def markdown(header: Sequence[str], lines: Iterable[list[str]]) -> list[str]:
    left = next((i for i, title in enumerate(header) if title not in fusion.TEXTS), len(header))
    return table(list(header), [list(map(text, line)) for line in lines], left=left)


def achieved_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Prediction and result of each variant, with the residual explained."""
    if not rows:
        return
    yield from ("## Fusing: predicted and achieved", "")
    yield from markdown(fusion.ACHIEVED, map(fusion.achieved_cells, rows))
    yield ""
    yield from (f"- {text(fusion.place(r))}: {text(r['explanation'])}." for r in rows)
    yield ""


def kernel_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Registers, spills and load widths of custom kernels."""
    known = [r for r in rows if r["ptx"] or r["registers"]]
    if not known:
        return
    yield from ("## Custom kernels", "")
    header = [
        "kernel",
        "from",
        "registers",
        "spilled bytes",
        "shared bytes",
        "bits a load (PTX)",
        "vectorised",
    ]
    yield from table(header, [kernel_line(r) for r in known])
    yield from ("", "Their PTX is in kernels/; all columns and every doubt are in kernels.csv.", "")


def kernel_line(row: Row) -> list[str]:
    names = ("registers", "spill_store_bytes", "shared_bytes", "ptx_load_bits", "vectorised")
    return [code(row["name"][:80]), row["origin"], *(row[name] or MISSING for name in names)]
