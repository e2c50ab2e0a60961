"""Traffic: bytes that a chain must move, over its measured time, beside a copy of the same tensors."""

from __future__ import annotations

from collections import Counter

from .capture import CaseEvidence

COPY = "copy"
OPERATIONS = ("kernel", "memory")


def model_bytes(case: CaseEvidence, variant: str) -> int | None:
    """Bytes that one call of a variant's chain reads and writes by its declaration, or None."""
    traffic, elements = case.plan.traffic.get(variant), case.plan.elements
    if traffic is None or elements is None:
        return None
    return (traffic["reads"] + traffic["writes"]) * elements * case.plan.element_bytes


def cache_resident(case: CaseEvidence) -> bool | None:
    """Whether the case's working set fits the L2 of the GPU that ran it; None where either is unknown."""
    sizes = [r["gpu"]["l2_bytes"] for r in case.records.values() if r.get("gpu") and r["gpu"].get("l2_bytes")]
    if not sizes or case.plan.working_set is None:
        return None
    return case.plan.working_set <= max(sizes)


def copy_rate(case: CaseEvidence, rows: list[dict]) -> float | None:
    """Bytes per second of the reference variant "copy" in the nsys process, or None."""
    amount = model_bytes(case, COPY)
    for row in rows:
        if row["level"] == "chain" and row["variant"] == COPY and row["nsys_median_ns"] and amount:
            return amount / row["nsys_median_ns"] * 1e9
    return None


def enter_traffic(case: CaseEvidence, rows: list[dict]) -> None:
    """Enter bytes and rates: into chain rows, and into the kernel's row where a chain is one kernel."""
    rate, resident, of_chain = copy_rate(case, rows), cache_resident(case), kernels_of_chain(case, rows)
    for row in rows:
        row["cache_resident"] = resident
        amount = model_bytes(case, row["variant"]) if row["variant"] else None
        if amount is None or in_library(case, row) or not moves_it_all(row, of_chain):
            continue
        row["model_bytes"] = amount
        if not row["nsys_median_ns"]:
            continue
        row["achieved_bytes_per_s"] = round(amount / row["nsys_median_ns"] * 1e9)
        if rate is not None:
            row["copy_bytes_per_s"] = round(rate)
            row["fraction_of_copy"] = round(amount / row["nsys_median_ns"] * 1e9 / rate, 4)


def moves_it_all(row: dict, of_chain: Counter[str]) -> bool:
    """Whether a row's time covers its chain's whole traffic.  ``of_chain``: as ``kernels_of_chain`` counts."""
    if row["level"] == "chain":
        return True
    if row["level"] not in OPERATIONS or of_chain[row["variant"]] != 1:
        return False
    return row["nsys_count"] == row["iterations"]


def kernels_of_chain(case: CaseEvidence, rows: list[dict]) -> Counter[str]:
    """Variant -> how many rows of kernels and copies are not the library's."""
    return Counter(r["variant"] for r in rows if r["level"] in OPERATIONS and not in_library(case, r))


def in_library(case: CaseEvidence, row: dict) -> bool:
    return bool(row["operator"]) and set(row["operator"].split(" | ")) <= set(case.plan.not_chain)
