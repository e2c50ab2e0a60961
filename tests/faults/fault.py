"""What a fault is, and how a module declares one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

ERROR, HARMLESS = "error", "none"
NOT_QUOTED = ("kernel", "eager", "Mul", "unknown")
"""A row whose evidence failed a check: (level, variant, part of the name, status)."""
UNKNOWN = NOT_QUOTED
"""A row that one of the books cannot speak of."""
DISAGREE = ("kernel", "eager", "Mul", "disagree")


@dataclass(frozen=True)
class Fault:
    """One fault and the answer to it.

    ``check``: id of the check that answers; "error" where the command stops before there is a table; "none"
    where the fault is read past and the table stays as it is.  ``status``: of that check, or the class of the
    error.  ``row``: (level, variant, part of the name, status) of the row in question.  ``says``: phrases of
    the reason.  ``also``: other checks that fire.  ``inject``: applies it to a bench; for an error it raises,
    for "none" it may return a text that must hold ``says``.
    """

    id: str
    title: str
    field: str
    injection: str
    check: str
    status: str
    row: tuple[str, str, str, str] | None
    says: tuple[str, ...]
    also: frozenset[str]
    inject: Callable


def declare(into: list[Fault]) -> Callable:
    """A decorator factory that adds the function below it to ``into``; its docstring says how it injects."""

    def fault(
        id: str,
        title: str,
        field: str,
        check: str,
        status: str,
        *says: str,
        row: tuple[str, str, str, str] | None = None,
        also: str = "",
    ) -> Callable:
        def register(inject: Callable) -> Callable:
            injection = " ".join((inject.__doc__ or "").split())
            others = frozenset(also.split())
            into.append(Fault(id, title, field, injection, check, status, row, says, others, inject))
            return inject

        return register

    return fault
