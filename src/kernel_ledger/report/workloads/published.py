"""Our ratios beside those that others published of the same variants; times of two machines are not compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...plan_file import Plan
from ..numbers import MISSING, code, duration, quotient, ratio, table, text


def published_lines(rows: list[dict], plan: Plan, captures: Path) -> Iterator[str]:
    for case in plan.cases:
        if not case.published:
            continue
        theirs = case.published["times_ns"]
        ours = {
            r["variant"]: r["event_median_ns"]
            for r in rows
            if (r["workload"], r["case"], r["level"]) == (case.workload, case.case, "block")
        }
        copy = next((ours[v] for v in case.variants if case.roles[v] == "reference" and ours.get(v)), None)
        first = next(iter(theirs))
        yield from [
            "",
            f"## {text(case.workload)} · {text(case.case)}: beside {text(case.published['source'])}",
            "",
        ]
        header = ["variant", "theirs", "their ratio", "ours", "our ratio", "our time ÷ copy"]
        yield from table(
            header,
            [
                [
                    code(variant),
                    duration(theirs.get(variant)),
                    ratio(quotient(theirs[first], theirs.get(variant))),
                    duration(ours[variant]),
                    ratio(quotient(ours.get(first), ours[variant])),
                    multiple(quotient(ours[variant], copy)),
                ]
                for variant in case.variants
                if variant in ours
            ],
        )
        yield from [
            "",
            f"Ratios: {code(first)} ÷ variant. Their times are of another GPU: compare the ratios.",
        ]


def multiple(value: float | None) -> str:
    return MISSING if value is None else f"{value:.3f}"
