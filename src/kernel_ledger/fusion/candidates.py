"""fusion.csv: each variant's chains by what fusing them would gain, and every other step with the reason why it stays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from ..names import base_name
from .chains import Chain, chains
from .step import Step
from .steps import ASSUMED, VariantSteps

COLUMNS = ("run", "workload", "case", "variant", "rank", "kind", "operators", "kernels", "gpu_ns", "share_of_gpu", "gap_ns",
           "numbers_before", "numbers_after", "per_element_before", "per_element_after", "bytes_before", "bytes_after",
           "predicted_chain_ratio", "block_ns", "block_source", "predicted_block_ratio", "intermediates", "kept", "use_count",
           "reason")  # fmt: skip
WHY = {
    "library": "a library kernel (matrix product, convolution, attention): not worth rewriting",
    "own": "a kernel of its own already (custom or generated)",
    "copy": "a copy or memset by the driver, not a kernel",
    "unknown": "no telling from its name whether memory bounds it",
}
Row = dict[str, Any]


def candidate_rows(
    identity: Mapping[str, str], variant: VariantSteps, block: Mapping[str, Any] | None
) -> list[Row]:
    """Rows of one variant: candidates by gain, then the steps outside them by time.  ``block``: its row of results.csv."""
    found = sorted(chains(variant), key=lambda c: (-saved_ns(variant, c), c.places))
    whole, source = block_time(variant, block)
    rows = [candidate(variant, chain, number, whole) for number, chain in enumerate(found, 1)]
    taken = {place for chain in found for place in chain.places}
    rows += others(variant, taken)
    if not variant.steps:
        rows.append({"kind": "unknown", "use_count": "unknown", "reason": variant.reason})
    return [
        dict.fromkeys(COLUMNS) | dict(identity) | {"block_ns": whole or None, "block_source": source} | row
        for row in rows
    ]


def block_time(variant: VariantSteps, block: Mapping[str, Any] | None) -> tuple[float, str]:
    """Time of a whole call in ns: by events where the run has it, else the GPU time in the trace."""
    if block and block["event_median_ns"]:
        return block["event_median_ns"], "event_median_ns"
    return variant.gpu_ns, "torch trace, GPU time"


def chain_ns(variant: VariantSteps, chain: Chain) -> float:
    return sum(variant.steps[place].ns for place in chain.places)


def saved_ns(variant: VariantSteps, chain: Chain) -> float:
    """What fusing saves of a call, where time goes as bytes do."""
    return chain_ns(variant, chain) * (1 - 1 / chain.ratio)


def candidate(variant: VariantSteps, chain: Chain, rank: int, whole: float) -> Row:
    steps, ns = [variant.steps[place] for place in chain.places], chain_ns(variant, chain)
    known = variant.source == "dataflow"
    said = [] if known else [ASSUMED, variant.reason or ""]
    if any(step.kind == "reduction" for step in steps):
        said.append("it holds a reduction: one pass is enough only where a row fits into one block")
    if chain.kept:
        said.append(f"{chain.kept} of its intermediates are used elsewhere and are still written")
    return {
        "rank": rank,
        "kind": "candidate",
        "operators": " → ".join(step.operator for step in steps),
        "kernels": sum(len(step.launched) for step in steps),
        "gpu_ns": ns,
        "share_of_gpu": round(ns / variant.gpu_ns, 4) if variant.gpu_ns else None,
        "gap_ns": gap_ns(steps),
        "numbers_before": chain.numbers_before,
        "numbers_after": chain.numbers_after,
        "per_element_before": round(chain.numbers_before / chain.largest, 3),
        "per_element_after": round(chain.numbers_after / chain.largest, 3),
        "bytes_before": chain.bytes_before,
        "bytes_after": chain.bytes_after,
        "predicted_chain_ratio": round(chain.ratio, 4),
        "predicted_block_ratio": round(whole / (whole - saved_ns(variant, chain)), 4),
        "intermediates": chain.intermediates,
        "kept": chain.kept if known else None,
        "use_count": "known" if known else "unknown",
        "reason": "; ".join(filter(None, said)) or None,
    }


def gap_ns(steps: list[Step]) -> int:
    """Time in the first call between the chain's first kernel and its last in which none of its kernels ran."""
    ops = sorted((op for step in steps for op in step.launched), key=lambda op: op.event.start)
    return ops[-1].event.end - ops[0].event.start - sum(op.duration for op in ops)


def others(variant: VariantSteps, taken: set[int]) -> Iterator[Row]:
    """Steps outside every candidate; equal ones (same operator, kernels and reason) are one row."""
    left = [step for place, step in enumerate(variant.steps) if place not in taken]
    key = lambda step: (step.kind, step.operator, names(step), why(step))  # noqa: E731
    rows = []
    for (kind, operator, kernels, reason), equal in groupby(sorted(left, key=key), key=key):
        equal = list(equal)
        ns = sum(step.ns for step in equal)
        rows.append(
            {
                "kind": "alone" if equal[0].memory_bound else kind,
                "operators": operator or kernels,
                "kernels": sum(len(step.launched) for step in equal),
                "gpu_ns": ns,
                "share_of_gpu": round(ns / variant.gpu_ns, 4) if variant.gpu_ns else None,
                "bytes_before": None if any(s.bytes is None for s in equal) else sum(s.bytes for s in equal),
                "reason": f"{kernels}: {reason}",
            }
        )
    yield from sorted(rows, key=lambda row: (-row["gpu_ns"], row["kind"], row["operators"], row["reason"]))


def names(step: Step) -> str:
    return ", ".join(dict.fromkeys(base_name(op.name)[:80] for op in step.launched))


def why(step: Step) -> str:
    if step.memory_bound and step.bytes is None:
        return f"memory-bound, and its bytes are unknown: {step.reason}"
    if step.memory_bound:
        return "memory-bound, and no memory-bound neighbour to share tensors with"
    return WHY[step.kind]
