"""The roofs of a run: its copies' bandwidth, and for each type the rate of its largest matrix product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Row = dict[str, Any]
Roof = tuple[float, str]


def enter_roofs(points: Sequence[Row], rows: Sequence[Row]) -> None:
    """Enter roofs and fractions.  ``rows``: the run's results.csv, whose copies give the bandwidth."""
    copies, gemms = copy_roofs(rows), gemm_roofs(points)
    best = max(copies.values(), default=None)
    for point in points:
        copy = copies.get((point["workload"], point["case"]), best)
        gemm = gemms.get(point["dtype"]) if point["flops"] else None
        if copy:
            point["copy_bytes_per_s"], point["copy_source"] = copy
        if gemm:
            point["gemm_flops_per_s"], point["gemm_source"] = gemm
        judge(point, copy, gemm)


def copy_roofs(rows: Sequence[Row]) -> dict[tuple[str, str], Roof]:
    """(workload, case) -> bytes/s of its copy; none of a case whose copy stays in the cache."""
    return {
        (r["workload"], r["case"]): (r["copy_bytes_per_s"], f"copy of {r['workload']}/{r['case']}")
        for r in rows
        if r["copy_bytes_per_s"] and not r["cache_resident"]
    }


def gemm_roofs(points: Sequence[Row]) -> dict[str, Roof]:
    """Type -> FLOP/s of the run's kernel with the most FLOPs in it."""
    kernels = [p for p in points if p["level"] == "kernel" and p["flops_per_s"] and p["dtype"]]
    found: dict[str, Row] = {}
    for p in kernels:
        if p["dtype"] not in found or p["flops"] > found[p["dtype"]]["flops"]:
            found[p["dtype"]] = p
    return {
        d: (p["flops_per_s"], f"{p['workload']}/{p['case']}/{p['variant']}: {p['name'][:80]}")
        for d, p in found.items()
    }


def judge(point: Row, copy: Roof | None, gemm: Roof | None) -> None:
    """Which roof is the lower one at this intensity, and how near the point comes to it."""
    said = [point["reason"]] if point["reason"] else []
    if point["bytes_per_s"] and point["flops_per_s"] and copy and gemm:
        under_copy, under_gemm = point["intensity"] * copy[0], gemm[0]
        point["bound"] = "memory" if under_copy < under_gemm else "compute"
        point["fraction_of_roof"] = round(point["flops_per_s"] / min(under_copy, under_gemm), 4)
    elif point["flops_per_s"] and gemm:
        point["bound"], point["fraction_of_roof"] = "compute", round(point["flops_per_s"] / gemm[0], 4)
        said.append("against the compute roof alone")
    elif point["bytes_per_s"] and copy:
        point["bound"], point["fraction_of_roof"] = "memory", round(point["bytes_per_s"] / copy[0], 4)
        said.append("FLOPs unknown: against the memory roof alone")
    else:
        point["bound"] = "unknown"
        if not copy:
            said.append("the run has no copy of tensors larger than the cache")
    if gemm and gemm[1].endswith(point["name"][:80]) and point["gemm_flops_per_s"] == point["flops_per_s"]:
        said.append("it is the compute roof itself")
    point["reason"] = "; ".join(said) or None


def summary(points: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many points lie under which roof."""
    return {bound: sum(p["bound"] == bound for p in points) for bound in ("memory", "compute", "unknown")}
