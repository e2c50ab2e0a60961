"""roofline.csv: one row for each kernel or copy of the table, with what is known of its bytes and FLOPs in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..fusion import VariantSteps
from ..fusion.step import Step
from ..names import base_name
from ..plan_file import PlannedCase
from ..trace_events import Launched
from . import products

COLUMNS = ("run", "workload", "case", "variant", "level", "name", "operator", "dtype", "time_ns", "bytes", "bytes_source",
           "flops", "flops_source", "intensity", "bytes_per_s", "flops_per_s", "copy_bytes_per_s", "copy_source",
           "gemm_flops_per_s", "gemm_source", "bound", "fraction_of_roof", "reason")  # fmt: skip
Row = dict[str, Any]


def points(
    identity: Mapping[str, str],
    case: PlannedCase,
    steps: Mapping[str, VariantSteps],
    rows: Sequence[Row],
    expected: Mapping[str, Sequence[Row]],
) -> list[Row]:
    """Rows of one case without roofs.  ``rows``: the case's of results.csv; ``expected``: variant -> the program's own
    expectations of its kernels."""
    found = [
        point(identity, row, steps.get(row["variant"]), expected.get(row["variant"], ()))
        for row in rows
        if row["level"] in ("kernel", "memory") and row["variant"]
    ]
    if case.flops:
        found += [
            whole(identity, case, row) for row in rows if row["level"] == "block" and row["event_median_ns"]
        ]
    return found


def point(
    identity: Mapping[str, str], row: Row, variant: VariantSteps | None, expected: Sequence[Row]
) -> Row:
    """Time, bytes and FLOPs of all launches of one kernel in one call."""
    own = [s for s in variant.steps if any(is_of(row, op) for op in s.launched)] if variant else []
    made = (
        dict.fromkeys(COLUMNS)
        | dict(identity)
        | {key: row[key] for key in ("variant", "level", "name", "operator")}
    )
    made["time_ns"] = call_ns(row)
    made["dtype"] = " | ".join(sorted({kind for s in own if (kind := products.dtype(s))})) or None
    made |= bytes_of(row, own, expected) | flops_of(own)
    if made["time_ns"]:
        for what in ("bytes", "flops"):
            if made[what] is not None:
                made[f"{what}_per_s"] = round(made[what] / made["time_ns"] * 1e9)
    if made["bytes"] and made["flops"]:
        made["intensity"] = round(made["flops"] / made["bytes"], 4)
    return made


def call_ns(row: Row) -> float | None:
    """Time of a row's launches in one call: the median of one, or the mean sum of several; from nsys where it has them."""
    book = "nsys" if row["nsys_total_ns"] else "torch"
    if not row[f"{book}_total_ns"] or not row["iterations"]:
        return None
    if row[f"{book}_count"] == row["iterations"]:
        return row[f"{book}_median_ns"]
    return row[f"{book}_total_ns"] / row["iterations"]


def is_of(row: Row, op: Launched) -> bool:
    """Whether a launch belongs to a row, which has the grid in its name where one kernel was launched with several."""
    name, _, geometry = row["name"].partition(" <<<")
    if not geometry:
        return op.name == name
    shape = ["x".join(map(str, op.event.args.get(key) or ())) for key in ("grid", "block")]
    return op.name == name and geometry == f"{shape[0]}, {shape[1]}>>>"


def bytes_of(row: Row, own: Sequence[Step], expected: Sequence[Row]) -> Row:
    """From the workload's traffic model or expectations, the data flow, or shapes; nothing where none of them tells."""
    if row["model_bytes"]:
        return {"bytes": row["model_bytes"], "bytes_source": "the workload's traffic model"}
    for kernel in expected:
        if kernel["bytes"] and kernel["kernel"] == base_name(row["name"]):
            return {
                "bytes": kernel["bytes"] * kernel["launches"],
                "bytes_source": "the program's expectation",
            }
    amounts = [step.bytes if products.factors(step) is None else products.bytes_moved(step) for step in own]
    if not own or any(amount is None for amount in amounts):
        why = next(
            (s.reason for s, amount in zip(own, amounts, strict=True) if amount is None and s.reason), None
        )
        return {"reason": f"bytes unknown: {why or 'no operator with known tensors launched it'}"}
    if any(len(step.launched) > 1 for step in own):
        return {"reason": "bytes unknown: its operator launched several kernels"}
    return {"bytes": sum(amounts), "bytes_source": "its operators' tensors, each once"}


def flops_of(own: Sequence[Step]) -> Row:
    counts = [products.flops(step) for step in own]
    if not own or any(count is None for count in counts) or any(len(step.launched) > 1 for step in own):
        return {}
    return {"flops": sum(counts), "flops_source": "2 m k n of its operators' shapes"}


def whole(identity: Mapping[str, str], case: PlannedCase, row: Row) -> Row:
    """A whole call of a workload that declares its FLOPs, by events."""
    made = dict.fromkeys(COLUMNS) | dict(identity) | {key: row[key] for key in ("variant", "level", "name")}
    made |= {"time_ns": row["event_median_ns"], "flops": case.flops, "flops_source": "the workload's flops"}
    made["flops_per_s"] = round(case.flops / row["event_median_ns"] * 1e9)
    dtype = case.parameters.get("dtype")
    return made | {
        "dtype": dtype if isinstance(dtype, str) else None,
        "reason": "bytes unknown: of a whole call",
    }
