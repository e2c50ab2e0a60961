"""operators.csv: for each launch the operator by both tools, paired by call and order of launching."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..columnar import NONE, Column, column
from ..columnar.table import combined
from ..evidence import Book, Operations
from ..plan_file import PlannedCase
from .ranges import operator_of

COLUMNS = (
    "run",
    "workload",
    "case",
    "variant",
    "kernel",
    "torch_operator",
    "nsys_operator",
    "launches",
    "status",
    "reason",
)
OFF = "nsys.emit_nvtx is off in config.yaml: nsys knows no operators"
Row = dict[str, Any]


def operator_rows(
    identity: Mapping[str, str],
    case: PlannedCase,
    variant: str,
    torch: Book,
    nsys: Book | None,
    emitted: bool,
) -> list[Row]:
    """Rows of one variant: "agree", "disagree", or "unknown" with the reason."""
    announced = frozenset(map(case.range_name, case.variants))
    name = case.range_name(variant)
    ours = launched(torch, name)
    theirs = launched(nsys, name) if nsys else None
    reason = None if emitted and nsys else OFF if nsys else "the nsys book cannot be read"
    if reason is None and not paired(ours, theirs):
        reason = "both books do not have the same kernels in the same order of launching"
    if reason is None:
        inside = [operator_of(text, announced) for text in theirs.values("innermost")]
        pairs = tallied(ours, name, theirs.column("innermost"), inside)
    else:
        pairs = tallied(ours, name, np.zeros(len(ours), dtype=np.int64), [None])
    rows = [judged(pair, count, reason) for pair, count in pairs.items()]
    return [
        dict(identity) | row
        for row in sorted(rows, key=lambda r: (r["kernel"], r["torch_operator"] or "", str(r)))
    ]


def launched(book: Book, name: str) -> Operations:
    """The operations of a range, call by call in the order in which they were launched."""
    ops = book.ops.where("range", name)
    launch = ops.column("launch_start")
    return ops.take(np.lexsort((ops.start, np.where(launch == NONE, 0, launch), ops.column("iteration"))))


def paired(ours: Operations, theirs: Operations) -> bool:
    """Whether both have the same kernels in the same calls and order."""
    if not np.array_equal(ours.column("iteration"), theirs.column("iteration")):
        return False
    of_theirs = column([ours.code("name", name) for name in theirs.values("name")])
    return np.array_equal(ours.column("name"), of_theirs[theirs.column("name")] if theirs else column())


def tallied(
    ours: Operations, name: str, inside: Column, operators: Sequence[str | None]
) -> Counter[tuple[str, str | None, str | None]]:
    """(kernel, torch's operator, nsys's operator) -> launches.  ``inside``: of each launch an index into ``operators``."""
    number, keys = combined([ours.column("name"), ours.column("operator"), inside])
    known = [None if text in ("", name) else text for text in ours.values("operator")]
    found: Counter = Counter()
    counts = np.bincount(number).tolist()
    for kernel, operator, other, count in zip(*(key.tolist() for key in keys), counts, strict=True):
        found[ours.values("name")[kernel], known[operator], operators[other]] += count
    return found


def judged(pair: tuple[str, str | None, str | None], count: int, reason: str | None) -> Row:
    kernel, torch, nsys = pair
    if reason is None and (torch is None or nsys is None):
        reason = " and ".join(
            f"{tool} has no operator around the launch"
            for tool, op in (("torch", torch), ("nsys", nsys))
            if op is None
        )
    status = "unknown" if reason else "agree" if torch == nsys else "disagree"
    if status == "disagree":
        reason = f"torch says {torch}, the innermost range of nsys {nsys}"
    return {"kernel": kernel, "torch_operator": torch, "nsys_operator": nsys, "launches": count, "status": status,
            "reason": reason}  # fmt: skip
