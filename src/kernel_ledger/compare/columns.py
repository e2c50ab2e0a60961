"""The columns of comparison.csv, each declared once; docs/columns.md derives from them too."""

from __future__ import annotations

from typing import Any

from ..columns import BY_NAME, KEY, Column
from .comparison import ComparedRow
from .judgement import VERDICTS

PERCENT = "% of the base run"
COLUMNS = (
    *(BY_NAME[name] for name in KEY),
    Column("role", "string", "variant: what is compared; reference: a yardstick such as copy"),
    Column("verdict", "string", ", ".join(VERDICTS)),
    Column("change_pct", "number", "estimated change, mean of the witnesses", unit=PERCENT),
    Column("low_pct", "number", "lower limit of the change, of all witnesses", unit=PERCENT),
    Column("high_pct", "number", "upper limit of the change, of all witnesses", unit=PERCENT),
    Column("margin_pct", "number", "what two runs of the same code may differ by here", unit=PERCENT),
    Column("events_pct", "number", "estimated change by CUDA events", unit=PERCENT),
    Column("torch_pct", "number", "estimated change by torch.profiler", unit=PERCENT),
    Column("nsys_pct", "number", "estimated change by Nsight Systems", unit=PERCENT),
    Column(
        "base_ns", "number", "median call in the base run (block: events; else nsys, or torch)", unit="ns"
    ),
    Column("new_ns", "number", "median call in the new run (block: events; else nsys, or torch)", unit="ns"),
    Column("base_samples", "integer", "calls (of 5 repeats or more: processes) behind base_ns"),
    Column("new_samples", "integer", "calls (of 5 repeats or more: processes) behind new_ns"),
    Column("reason", "string", "why the row is ambiguous"),
)


def values(row: ComparedRow) -> dict[str, Any]:
    """A compared row by column name."""
    found, witnesses = row.judgement, row.judgement.witnesses or {}
    return {
        **dict(zip(KEY, row.key, strict=True)),
        "role": row.role,
        "verdict": row.verdict,
        **{
            name: getattr(found, name)
            for name in ("change_pct", "low_pct", "high_pct", "margin_pct", "reason")
        },
        **{f"{witness}_pct": witnesses.get(witness) for witness in ("events", "torch", "nsys")},
        **{name: getattr(row, name) for name in ("base_ns", "new_ns", "base_samples", "new_samples")},
    }
