"""Tries one claim on one case: held, refuted, or not tested and why."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from .declared import Claim
from .functions import SIGNATURES, Case, NotTested
from .language import ARITHMETIC, COMPARISONS, BadExpression, arguments, flat, parse

HELD, REFUTED, NOT_TESTED = "held", "refuted", "not tested"


@dataclass(frozen=True)
class Outcome:
    """``measured``: both sides of each comparison that is not a constant, as ``expression = value``."""

    outcome: str
    measured: str = ""
    reason: str = ""
    source: str = ""


class Evaluation:
    """Computes a checked tree over a case and notes what it measured."""

    def __init__(self, line: str, case: Case) -> None:
        self.line, self.case = line, case
        self.measured: dict[str, str] = {}

    def note(self, node: ast.expr, value: float | bool) -> None:
        if not isinstance(node, ast.Constant):
            self.measured.setdefault(
                ast.get_source_segment(self.line, node) or ast.unparse(node), shown(value)
            )

    def truth(self, node: ast.expr) -> bool:
        """Every part is computed, also where an earlier one decides: a claim is tested whole or not at all."""
        match node:
            case ast.BoolOp(op=op, values=values):
                found = [self.truth(value) for value in values]
                return all(found) if isinstance(op, ast.And) else any(found)
            case ast.UnaryOp(operand=operand):
                return not self.truth(operand)
            case ast.Compare(left=left, ops=ops, comparators=others):
                sides = [left, *others]
                values = [self.number(side) for side in sides]
                for side, value in zip(sides, values, strict=True):
                    self.note(side, value)
                pairs = zip(ops, values, values[1:], strict=False)
                return all(COMPARISONS[type(op)][1](a, b) for op, a, b in pairs)
        value = bool(self.called(node))
        self.note(node, value)
        return value

    def number(self, node: ast.expr) -> float:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.UnaryOp(operand=operand):
                return -self.number(operand)
            case ast.BinOp(left=left, op=op, right=right):
                try:
                    return ARITHMETIC[type(op)](self.number(left), self.number(right))
                except (ZeroDivisionError, OverflowError) as error:
                    raise NotTested(f"{ast.unparse(node)}: {error}") from error
        return self.called(node)

    def called(self, node: ast.expr) -> float | bool:
        name = node.func.id
        return self.case.call(name, arguments(node, SIGNATURES[name]))


def shown(value: float | bool) -> str:
    """A value in claims.csv: whole numbers as they are, others with six digits."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else f"{value:.6g}"


def try_claim(claim: Claim, case: Case) -> Outcome:
    """One claim on one case."""
    trial = Case(case.rows, case.folder)
    line = flat(claim.expression)
    try:
        if claim.requires is not None:
            condition = Evaluation(flat(claim.requires), trial)
            if not condition.truth(parse(claim.requires, SIGNATURES)):
                here = ", ".join(f"{source} = {value}" for source, value in condition.measured.items())
                return finished(NOT_TESTED, None, trial, f"only tested where {condition.line}; here {here}")
        evaluation = Evaluation(line, trial)
        result = evaluation.truth(parse(line, SIGNATURES))
    except NotTested as reason:
        return finished(NOT_TESTED, None, trial, str(reason))
    except BadExpression as error:
        return finished(NOT_TESTED, None, trial, str(error))
    return finished(HELD if result else REFUTED, evaluation, trial, "; ".join(trial.remarks))


def finished(outcome: str, evaluation: Evaluation | None, trial: Case, reason: str) -> Outcome:
    measured = evaluation.measured if evaluation else {}
    return Outcome(
        outcome,
        "; ".join(f"{source} = {value}" for source, value in measured.items()),
        reason,
        "; ".join(sorted(filter(None, trial.sources))),
    )
