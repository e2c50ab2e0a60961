"""The catalogue of errors: what happened, where, expected, found, what to do next.

Every class builds its text from facts and carries the exit status of the command that raised it.
"""

from __future__ import annotations


class LedgerError(Exception):
    """Base of all errors that a user is meant to read; anything else is a defect of ours."""

    exit_status = 1

    def __init__(
        self,
        what: str,
        *,
        where: object = None,
        expected: object = None,
        found: object = None,
        next_step: str | None = None,
    ) -> None:
        self.what, self.where = what, where
        self.expected, self.found, self.next_step = expected, found, next_step
        super().__init__(what)

    def __str__(self) -> str:
        lines = [self.what if self.where is None else f"{self.where}: {self.what}"]
        if self.expected is not None:
            lines.append(f"  expected: {self.expected}")
        if self.found is not None:
            lines.append(f"  found:    {self.found}")
        if self.next_step:
            lines.append(f"  next:     {self.next_step}")
        return "\n".join(lines)


class ConfigError(LedgerError):
    """The configuration, or a workload file it names, cannot be used; nothing was run."""

    exit_status = 2


class MachineError(LedgerError):
    """This machine lacks something (nsys, nvcc, a GPU, a package) or has the wrong version."""

    exit_status = 3


class PassError(LedgerError):
    """A measured process failed, timed out, or did not deliver what it announced."""

    exit_status = 4


class EvidenceError(LedgerError):
    """A file of a capture is missing, damaged, or not what its pass recorded."""

    exit_status = 5
