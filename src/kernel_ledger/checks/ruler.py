"""ruler: kernels with known counts, grids and least durations come out right in both books."""

from __future__ import annotations

import numpy as np

from ..capture import CaseEvidence
from ..evidence import Book, Operations
from ..names import base_name
from ..plan_file import Plan
from .outcome import CPU, NOT_APPLICABLE, Outcome, Parts

NEXT = "distrust the named tool on this machine: update it to the driver's version, then measure again"


def check(plan: Plan, case: CaseEvidence, rows: list[dict]) -> Outcome:
    if case.device == "cpu":
        return Outcome(NOT_APPLICABLE, CPU)
    announced = {k: r["expectations"] for k, r in case.records.items() if r.get("expectations")}
    if case.plan.workload != "ruler" and not announced:
        return Outcome(NOT_APPLICABLE, "this workload announces no kernel beforehand")
    parts, measured = Parts(next_step=NEXT), 0
    for variant in case.plan.variants:
        for name, book in (f"torch/{variant}", case.torch.get(variant)), ("nsys", case.nsys):
            known = announced.get(name, {}).get(variant)
            if book is None or not known:
                parts.gaps.append(
                    f"{name}: {variant} cannot be measured with the ruler ({'no book' if book is None else 'nothing announced'})"
                )
                continue
            for expectation in known:
                measured += 1
                parts.wrong += [
                    f"{name}: {text}"
                    for text in faults(book, case.plan.range_name(variant), expectation, plan.iterations)
                ]
    return parts.outcome(f"{measured} comparisons", "counts, grids, blocks and least durations as announced")


def faults(book: Book, range_name: str, known: dict, iterations: int) -> list[str]:
    """What one book says of one kernel that the program knew beforehand."""
    ops = of_kernel(book.ops.where("range", range_name), known["kernel"])
    kernel, wanted = known["kernel"], known["launches"] * iterations
    wrong = (
        [] if len(ops) == wanted else [f"{kernel} was launched {wanted} times, {len(ops)} are in the book"]
    )
    for what, value in ("grid", tuple(known["grid"])), ("block", tuple(known["block"])):
        odd = ops.seen(what) - {value}
        if odd:
            wrong.append(f"{kernel} has {what} {value}, the book says {sorted(odd, key=str)}")
    if ops and (fastest := int(ops.duration.min())) < known["least_ns"]:
        wrong.append(f"{kernel} cannot take less than {known['least_ns']} ns, the book says {fastest}")
    return wrong


def of_kernel(ops: Operations, kernel: str) -> Operations:
    """The operations of all kernels with this short name."""
    named = np.array([base_name(name) == kernel for name in ops.values("name")], dtype=bool)
    return ops.take(named[ops.column("name")]) if len(ops) else ops
