"""What a check says of one case, and how its parts add up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..capture import CaseEvidence

FAIL, UNKNOWN, PASS, NOT_APPLICABLE = "fail", "unknown", "pass", "not_applicable"
CPU = "device=cpu: nothing ran on a GPU"
AGAIN = (  # "aside": what is refuted is still evidence
    "measure this case anew: move its folder under captures/ aside and run snakemake again "
    "(a run that is replayed: fetch it once more)"
)


@dataclass(frozen=True)
class Outcome:
    """``measured`` and ``limit`` are texts or numbers for people; ``evidence`` names files of the capture.
    ``spoils``: variants whose rows may not be quoted where the check failed; None: all of the case."""

    status: str
    reason: str = ""
    measured: object = None
    limit: object = None
    evidence: tuple[str, ...] = ()
    spoils: frozenset[str] | None = None


@dataclass
class Parts:
    """Gathers what is wrong and what cannot be known; a fault weighs more than a gap.

    ``next_step``: what to do about either, said once at the end of the reason.
    """

    wrong: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    evidence: list[str] = field(default_factory=list)
    next_step: str = AGAIN

    def outcome(self, measured: object = None, limit: object = None) -> Outcome:
        status = FAIL if self.wrong else UNKNOWN if self.gaps else PASS
        reason = "; ".join(dict.fromkeys([*self.wrong, *self.gaps]))
        reason += f". Next: {self.next_step}" if reason else ""
        return Outcome(status, reason, measured, limit, tuple(dict.fromkeys(self.evidence)))


def findings(case: CaseEvidence, check: str, prefix: str = "") -> list[str]:
    """What reading the capture found for a check, as ``file: text``."""
    found = [f for f in case.findings if f.check == check and f.file.startswith(prefix)]
    return [
        f.text if f.text.startswith((f"{f.file}: ", f"{f.file}/")) else f"{f.file}: {f.text}" for f in found
    ]


def place(row: Mapping[str, object]) -> str:
    """The variant of a row for people; kernels outside all ranges have none."""
    return str(row["variant"] or "(outside)")


def shorten(parts: Sequence[str], most: int = 5) -> list[str]:
    """The first few of many sentences, and how many more there are."""
    return [*parts[:most], *([f"and {len(parts) - most} more"] if len(parts) > most else [])]


def expected_passes(case: CaseEvidence) -> list[str]:
    """Passes that must have left a record, as keys of ``case.records``."""
    nsys = ["nsys"] if "nsys" in case.passes else []
    return ["timing", *(f"torch/{v}" for v in case.plan.variants), *nsys]


def missing_records(case: CaseEvidence) -> Iterable[str]:
    """A sentence for each pass without a record, and for an nsys pass that could not be made."""
    for name in expected_passes(case):
        if name not in case.records:
            yield f"pass {name} left no record"
    if case.nsys_absent:
        yield f"there was no nsys pass: {case.nsys_absent}"
