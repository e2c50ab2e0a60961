"""fusion_achieved.csv: what was predicted of the first variant, beside what each other variant achieved, and why they differ.

With time = bytes / rate, achieved ratio = byte ratio x (rate of the variant / rate of the baseline), exactly: so a residual is
a difference of rates, and the columns beside it say where that may come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..plan_file import PlannedCase
from ..report.numbers import duration
from .candidates import saved_ns
from .chains import chains
from .resources import occupancy, waves
from .steps import VariantSteps

COLUMNS = ("run", "workload", "case", "baseline", "variant", "predicted_chain_ratio", "achieved_chain_ratio", "residual_pct",
           "predicted_block_ratio", "achieved_block_ratio", "baseline_of_copy", "variant_of_copy", "baseline_gap_ns",
           "variant_gap_ns", "baseline_library_ns", "variant_library_ns", "variant_occupancy_pct", "variant_waves",
           "cache_resident", "explanation")  # fmt: skip
Row = dict[str, Any]


def achieved_rows(
    identity: Mapping[str, str],
    case: PlannedCase,
    steps: Mapping[str, VariantSteps],
    rows: Sequence[Row],
    l2_bytes: int | None,
) -> list[Row]:
    """Rows of one case; none where the first variant has no candidate.  ``rows``: the case's rows of results.csv."""
    compared = [v for v in case.compared() if v in steps]
    if len(compared) < 2 or not (found := chains(steps[compared[0]])):
        return []
    table = {
        (row["variant"], row["level"]): row for row in rows if row["level"] in ("block", "chain", "range")
    }
    baseline = compared[0]
    before = outside_library(steps[baseline])
    saved = sum(saved_ns(steps[baseline], chain) for chain in found)
    predicted = before / (before - saved)
    largest = max(t.bytes for c in found for p in c.places for t in steps[baseline].steps[p].writes)
    result = []
    for variant in compared[1:]:
        row = dict.fromkeys(COLUMNS) | dict(identity) | {"baseline": baseline, "variant": variant}
        row["predicted_chain_ratio"] = round(predicted, 4)
        measure(row, table, steps, before, saved)
        row["explanation"] = explain(row, largest, l2_bytes, share=before / steps[baseline].gpu_ns)
        result.append(row)
    return result


def outside_library(variant: VariantSteps) -> float:
    """GPU time of a call outside library kernels, by the torch trace."""
    return variant.gpu_ns - variant.of_library()


def measure(
    row: Row,
    table: Mapping[tuple[str, str], Row],
    steps: Mapping[str, VariantSteps],
    before: float,
    saved: float,
) -> None:
    """Enter what was measured of both variants."""
    baseline, variant = row["baseline"], row["variant"]
    after = outside_library(steps[variant])
    if after and steps[variant].steps:
        row["achieved_chain_ratio"] = round(before / after, 4)
        row["residual_pct"] = round(100 * (before / after / row["predicted_chain_ratio"] - 1), 2)
    blocks = [table.get((v, "block"), {}).get("event_median_ns") for v in (baseline, variant)]
    if all(blocks):
        row["predicted_block_ratio"] = round(blocks[0] / (blocks[0] - saved), 4)
        row["achieved_block_ratio"] = round(blocks[0] / blocks[1], 4)
    for side, name in (("baseline", baseline), ("variant", variant)):
        chain, whole = table.get((name, "chain"), {}), table.get((name, "range"), {})
        row[f"{side}_of_copy"] = chain.get("fraction_of_copy")
        if whole.get("gpu_span_ns") is not None and whole.get("gpu_busy_ns") is not None:
            row[f"{side}_gap_ns"] = round(whole["gpu_span_ns"] - whole["gpu_busy_ns"], 1)
        row[f"{side}_library_ns"] = steps[name].of_library()
    row["cache_resident"] = next((r["cache_resident"] for r in table.values()), None)
    longest = longest_kernel(steps[variant])
    if longest is not None:
        row["variant_occupancy_pct"] = occupancy(longest)
        row["variant_waves"] = waves(longest, steps[variant].device)


def longest_kernel(variant: VariantSteps) -> Mapping[str, Any] | None:
    """The trace's arguments of the longest kernel outside libraries."""
    ops = [
        op for s in variant.steps if s.kind != "library" for op in s.launched if op.event.category == "kernel"
    ]
    return max(ops, key=lambda op: op.duration).event.args if ops else None


def explain(row: Row, largest: int, l2_bytes: int | None, share: float) -> str:
    """Why the whole call gains less, and the residual, in sentences, each with its number; what is not known is named.

    ``share``: of the baseline's GPU time, what is spent outside library kernels.
    """
    if row["achieved_chain_ratio"] is None:
        return f"unknown: {row['variant']} has no kernel outside libraries that the trace can attribute"
    said = [f"outside libraries {row['achieved_chain_ratio']:.2f}× where bytes promise {row['predicted_chain_ratio']:.2f}×"
            f" ({row['residual_pct']:+.1f} %)"]  # fmt: skip
    if row["achieved_block_ratio"] is not None:
        bound = (
            f": were it gone, the call's GPU work would be {1 / (1 - share):.2f}× as fast"
            if share < 1
            else ""
        )
        said.append(
            f"the whole call gains {row['achieved_block_ratio']:.2f}×, because that part is {share:.1%} of"
            f" {row['baseline']}'s GPU time{bound}"
        )
    if row["baseline_of_copy"] and row["variant_of_copy"]:
        rates = row["baseline_of_copy"], row["variant_of_copy"]
        said.append(
            f"{row['baseline']} moves its bytes at {rates[0]:.1%} of copy, {row['variant']} at {rates[1]:.1%}:"
            f" a factor of {rates[1] / rates[0]:.3f}"
        )
    else:
        said.append("rates against copy are unknown: the workload declares no traffic or has no copy")
    if row["variant_occupancy_pct"] is not None:
        text = f"its longest kernel has an estimated occupancy of {row['variant_occupancy_pct']} %"
        said.append(text + (f" and {row['variant_waves']:g} waves" if row["variant_waves"] else ""))
    if row["baseline_gap_ns"] is not None and row["variant_gap_ns"] is not None:
        said.append(f"the GPU idles {duration(row['baseline_gap_ns'])} a call in {row['baseline']} and"
                    f" {duration(row['variant_gap_ns'])} in {row['variant']}")  # fmt: skip
    change = row["variant_library_ns"] - row["baseline_library_ns"]
    if abs(change) > 0.01 * (row["baseline_library_ns"] or 1):
        said.append(
            f"library kernels take {duration(abs(change))} {'more' if change > 0 else 'less'} than in the baseline"
        )
    if l2_bytes and largest <= l2_bytes:
        said.append(
            f"an intermediate ({largest / 2**20:.3g} MiB) fits the L2 ({l2_bytes >> 20} MiB): the baseline read less"
            " from memory than was counted"
        )
    return "; ".join(said)
