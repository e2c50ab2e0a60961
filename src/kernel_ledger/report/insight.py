"""The end of summary.md: what fusing would gain, what it did gain, and the custom kernels; from the run folder's CSVs."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from .numbers import MISSING, code, duration, ratio, table, text

MOST = 10
Row = dict[str, str]


def insight_section(folder: Path) -> str:
    """Markdown text; empty where the run has none of these files or nothing is in them."""
    lines = [
        *fusion_lines(read(folder / "fusion.csv")),
        *achieved_lines(read(folder / "fusion_achieved.csv")),
        *kernel_lines(read(folder / "kernels.csv")),
    ]
    return "\n" + "\n".join(lines) + "\n" if lines else ""


def read(path: Path) -> list[Row]:
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def number(row: Row, name: str) -> float | None:
    return float(row[name]) if row[name] else None


def gain(row: Row) -> float:
    return -(number(row, "predicted_block_ratio") or 0)


def fusion_lines(rows: Sequence[Row]) -> Iterator[str]:
    """The best candidates of the run by what they would gain of a whole call."""
    found = sorted((r for r in rows if r["kind"] == "candidate"), key=lambda r: (gain(r), *r.values()))
    if not rows:
        return
    yield from ("## Fusion candidates", "")
    if not found:
        yield "None: no two neighbouring memory-bound kernels hand a tensor of known size to each other. See fusion.csv."
        yield ""
        return
    header = [
        "where",
        "operators",
        "kernels",
        "tensors moved",
        "GPU time",
        "chain, predicted",
        "whole call, predicted",
        "use counts",
    ]
    yield from table(header, [candidate_line(r) for r in found[:MOST]])
    yield ""
    rest = f" {len(found) - MOST} more are in fusion.csv." if len(found) > MOST else ""
    yield (
        "Tensors moved: numbers read and written, before and after, over those of the largest tensor. The chain's time is taken"
        f" to go as its bytes, the rest of the call to stay (Amdahl).{rest}"
    )
    if any(r["use_count"] == "unknown" for r in found):
        yield ""
        yield (
            "Use counts `unknown`: no data flow was recorded, so that each intermediate is assumed to be read by the next kernel"
            " alone."
        )
    library = list(dict.fromkeys(r["operators"] for r in rows if r["kind"] == "library"))
    if library:
        yield ""
        named = ", ".join(map(code, library[:MOST])) + (" and others" if len(library) > MOST else "")
        yield f"Not worth rewriting (library kernels): {named}."
    yield ""


def candidate_line(row: Row) -> list[str]:
    return [
        text(f"{row['workload']} / {row['case']} / {row['variant']}"),
        text(row["operators"] if len(row["operators"]) < 160 else row["operators"][:159] + "…"),
        row["kernels"],
        f"{row['per_element_before']} → {row['per_element_after']}",
        duration(number(row, "gpu_ns")),
        ratio(number(row, "predicted_chain_ratio")),
        ratio(number(row, "predicted_block_ratio")),
        row["use_count"],
    ]


def achieved_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Prediction and result of each variant, with the residual explained."""
    if not rows:
        return
    yield from ("## Fusing: predicted and achieved", "")
    header = [
        "variant",
        "chain, predicted",
        "chain, achieved",
        "residual",
        "call, predicted",
        "call, achieved",
    ]
    yield from table(header, [achieved_line(r) for r in rows])
    yield ""
    yield from (f"- {text(place(r))}: {text(r['explanation'])}." for r in rows)
    yield ""


def place(row: Row) -> str:
    return f"{row['workload']} / {row['case']} / {row['variant']}"


def achieved_line(row: Row) -> list[str]:
    names = ("predicted_chain_ratio", "achieved_chain_ratio", "predicted_block_ratio", "achieved_block_ratio")
    predicted, achieved, whole, came = (ratio(number(row, name)) for name in names)
    residual = MISSING if not row["residual_pct"] else f"{float(row['residual_pct']):+.1f} %"
    return [text(place(row)), predicted, achieved, residual, whole, came]


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
