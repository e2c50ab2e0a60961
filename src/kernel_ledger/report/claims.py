"""Claims as the summary and the page list them: cases with the same outcome and figures together, times with units.

Input: the rows of claims.csv.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .numbers import duration
from .run_csv import as_written

TIMES = ("block", "chain", "kernel", "wrapper_self_ns")


@dataclass(frozen=True)
class ClaimLine:
    """One claim with one outcome; ``cases`` are workload/case, ``sources`` file@hash."""

    outcome: str
    claim: str
    sentence: str
    figures: list[str]
    reason: str
    refuted_by: str
    sources: list[str]
    cases: list[str]


def claim_table(claims: Sequence[Mapping[str, str]]) -> list[ClaimLine]:
    """The claims in the file's order."""
    lines: dict[tuple[str, ...], ClaimLine] = {}
    for written in claims:
        row = {name: as_written(value) for name, value in written.items()}
        key = tuple(row[name] for name in ("outcome", "claim", "sentence", "measured", "reason"))
        line = lines.setdefault(
            key,
            ClaimLine(
                outcome=row["outcome"],
                claim=row["claim"],
                sentence=row["sentence"],
                figures=[figure(part) for part in row["measured"].split("; ") if part],
                reason=row["reason"],
                refuted_by=row["refuted_by"],
                sources=[],
                cases=[],
            ),
        )
        line.cases.append(f"{row['workload']}/{row['case']}")
        line.sources.extend(s for s in row["source"].split("; ") if s and s not in line.sources)
    return list(lines.values())


def figure(measured: str) -> str:
    """``expression = value`` with a unit in place of nanoseconds where the expression is a time."""
    expression, equals, value = measured.rpartition(" = ")
    try:
        nanoseconds = float(value)
        tree = ast.parse(expression, mode="eval").body
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return measured
    return f"{expression}{equals}{duration(nanoseconds)}" if equals and is_time(tree) else measured


def is_time(node: ast.expr) -> bool:
    """Whether an expression of the claims' language is in ns: a time over a time is a number again."""
    match node:
        case ast.Call(func=ast.Name(id="cell"), args=[ast.Constant(value=str(column)), *_]):
            return column.endswith("_ns")
        case ast.Call(func=ast.Name(id=name)):
            return name in TIMES
        case ast.UnaryOp(operand=operand):
            return is_time(operand)
        case ast.BinOp(op=ast.Add() | ast.Sub(), left=left, right=right):
            return is_time(left) and is_time(right)
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            return is_time(left) != is_time(right)
        case ast.BinOp(op=ast.Div(), left=left, right=right):
            return is_time(left) and not is_time(right)
    return False
