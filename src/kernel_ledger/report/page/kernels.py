"""The table of all kernels and copies of a case, in the words and numbers of both tools."""

from __future__ import annotations

from ...names import base_name
from ..numbers import MISSING, duration, percent, quotient, rate
from .read import Case

HEADER = (
    ("variant", "text"),
    ("kernel", "text"),
    ("launches: announced, torch, nsys", "number"),
    ("torch median", "number"),
    ("nsys median", "number"),
    ("difference", "number"),
    ("of the call", "number"),
    ("bandwidth", "number"),
    ("of copy", "number"),
    ("status", "text"),
)


def kernel_lines(case: Case) -> list[dict]:
    """One entry a row of the table: its cells as (text, value to sort by), its name and its details."""
    blocks = case.by_variant("block")
    return [line(row, blocks.get(row["variant"])) for row in case.level("kernel", "memory")]


def line(row: dict, block: dict | None) -> dict:
    share = quotient(row["nsys_total_ns"], block["nsys_total_ns"]) if block else None
    counts = [row["expected_count"], row["torch_count"], row["nsys_count"]]
    numbers = [
        (", ".join(map(count, counts)), next((c for c in counts[::-1] if c is not None), None)),
        (duration(row["torch_median_ns"]), row["torch_median_ns"]),
        (duration(row["nsys_median_ns"]), row["nsys_median_ns"]),
        (percent(row["difference_pct"]), row["difference_pct"]),
        (MISSING if share is None else f"{share:.1%}", share),
        (rate(row["achieved_bytes_per_s"]), row["achieved_bytes_per_s"]),
        (
            MISSING if row["fraction_of_copy"] is None else f"{row['fraction_of_copy']:.1%}",
            row["fraction_of_copy"],
        ),
    ]
    return {
        "variant": row["variant"] or "(outside every range)",
        "name": row["name"],
        "short": base_name(row["name"]) if row["level"] == "kernel" else row["name"],
        "operator": row["operator"],
        "numbers": numbers,
        "status": row["status"],
        "details": [(title, text) for title, text in details(row) if text],
    }


def details(row: dict) -> list[tuple[str, str]]:
    """What is shown where a kernel's name is opened."""
    return [
        ("input shapes", row["input_shapes"]),
        ("grid × block", " × ".join(filter(None, [row["grid"], row["block"]]))),
        ("torch", spread(row, "torch")),
        ("nsys", spread(row, "nsys")),
        ("reason", row["reason"] or ""),
        ("from", " and ".join(filter(None, [row["torch_source"], row["nsys_source"]]))),
    ]


def spread(row: dict, book: str) -> str:
    low, high = row[f"{book}_min_ns"], row[f"{book}_max_ns"]
    return "" if low is None else f"{duration(low)} to {duration(high)}"


def count(value: int | None) -> str:
    return MISSING if value is None else str(value)
