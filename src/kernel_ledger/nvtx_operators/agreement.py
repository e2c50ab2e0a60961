"""operators.csv: for each launch the operator by both tools, paired by call and order of launching."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..evidence import Book, GpuOp
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
    ours = calls(torch, name)
    theirs = calls(nsys, name) if nsys else {}
    reason = None if emitted and nsys else OFF if nsys else "the nsys book cannot be read"
    if reason is None and paired_names(ours) != paired_names(theirs):
        reason = "both books do not have the same kernels in the same order of launching"
    if reason is None:
        pairs = Counter(both(ours, theirs, name, announced))
    else:
        pairs = Counter((op.name, torch_operator(op, name), None) for ops in ours.values() for op in ops)
    rows = [judged(pair, count, reason) for pair, count in pairs.items()]
    return [
        dict(identity) | row
        for row in sorted(rows, key=lambda r: (r["kernel"], r["torch_operator"] or "", str(r)))
    ]


def calls(book: Book, name: str) -> dict[int, list[GpuOp]]:
    """Call -> its operations in the order in which they were launched."""
    found: dict[int, list[GpuOp]] = {}
    for op in book.ops:
        if op.range == name:
            found.setdefault(op.iteration, []).append(op)
    return {
        n: sorted(ops, key=lambda op: (op.launch_start or 0, op.start)) for n, ops in sorted(found.items())
    }


def paired_names(ops: Mapping[int, Sequence[GpuOp]]) -> dict[int, list[str]]:
    return {number: [op.name for op in of_call] for number, of_call in ops.items()}


def torch_operator(op: GpuOp, name: str) -> str | None:
    return op.operator if op.operator and op.operator != name else None


def both(
    ours: Mapping[int, Sequence[GpuOp]],
    theirs: Mapping[int, Sequence[GpuOp]],
    name: str,
    announced: frozenset[str],
) -> Iterator[tuple[str, str | None, str | None]]:
    for number, ops in ours.items():
        for op, other in zip(ops, theirs[number], strict=True):
            yield op.name, torch_operator(op, name), operator_of(other.innermost, announced)


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
