"""The section *Ranks* of summary.md: what the processes of a group did at the same time, and who kept whom waiting."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

from .numbers import MISSING, code, duration, table, text

FILE = "ranks.csv"
HEADER = [
    "variant", "rank", "book", "step", "computing", "communicating", "overlap", "begins late", "comes late", "last at",
]  # fmt: skip
Row = Mapping[str, str]


def ranks_section(run: Path) -> str:
    """Markdown, empty for a run without groups.  ``run``: its folder."""
    if not (run / FILE).is_file():
        return ""
    with (run / FILE).open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    lines = ["", "## Ranks", ""]
    for key in dict.fromkeys((r["workload"], r["case"]) for r in rows):
        mine = [r for r in rows if (r["workload"], r["case"]) == key]
        lines += [
            f"### {text(key[0])} · {text(key[1])}",
            "",
            *table(HEADER, [line(r) for r in mine], left=3),
            "",
        ]
        lines += [*(f"- {sentence}" for sentence in sentences(mine)), ""]
    lines += [
        "*Late* is after the first rank of the same call or collective, median. A rank's communicating holds its waiting"
        f" for the others. All of it is in `{FILE}`.",
        "",
    ]
    return "\n".join(lines)


def line(row: Row) -> list[str]:
    return [
        code(row["variant"]),
        row["rank"],
        row["book"],
        *(time(row[name]) for name in ("step_ns", "compute_ns", "communication_ns")),
        percent(row["overlap_pct"]),
        *(time(row[name]) for name in ("start_late_ns", "arrival_late_ns")),
        percent(row["last_pct"]),
    ]


def time(value: str) -> str:
    return duration(float(value)) if value else MISSING


def percent(value: str) -> str:
    return f"{float(value):g} %" if value else MISSING


def sentences(rows: list[Row]) -> Iterator[str]:
    """Stragglers by name, whether one book or both say so, and otherwise that there are none."""
    for variant in dict.fromkeys(r["variant"] for r in rows):
        own = [r for r in rows if r["variant"] == variant]
        named: dict[str, list[Row]] = {}
        for row in own:
            if row["straggler"] == "true":
                named.setdefault(row["rank"], []).append(row)
        for rank, told in named.items():
            books = " and ".join(r["book"] for r in told)
            late = told[0]["arrival_late_ns"] or told[0]["start_late_ns"]
            where = told[0]["gpu"] or told[0]["device"]
            yield (
                f"{code(variant)}: **rank {rank} keeps the others waiting** ({text(where)}): last at"
                f" {percent(told[0]['last_pct'])} of the points, by {time(late)} (by {books})"
            )
        if not named and any(r["straggler"] for r in own):
            yield f"{code(variant)}: no rank is regularly late by more than 1 % of a step"
        for reason in dict.fromkeys(r["reason"] for r in own if r["reason"]):
            yield f"{code(variant)}: {text(reason)}"
