"""Two runs, row by row: refused or judged, and what that means for whoever waits for an exit status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from ..errors import LedgerError
from .conditions import MAY_DIFFER, Difference, differences
from .judgement import VERDICTS, Judgement, Margins, judge
from .run import RowKey, Run

EXIT = {"no regression": 0, "regression": 1, "cannot judge": 2, "not judged": 2, "refused": 2}


class Incomparable(LedgerError):
    """Two runs differ in what must be the same, so their numbers say nothing of each other."""

    exit_status = 2


@dataclass(frozen=True)
class ComparedRow:
    """``base_ns`` and ``new_ns``: medians by CUDA events for a block, by nsys otherwise (torch, where nsys has none)."""

    key: RowKey
    role: str
    judgement: Judgement
    base_ns: float | None
    new_ns: float | None
    base_samples: int
    new_samples: int

    @property
    def verdict(self) -> str:
        return self.judgement.verdict

    @property
    def level(self) -> str:
        return self.key[3]


@dataclass(frozen=True)
class Comparison:
    """``refusals``: why the runs may not be compared; with ``forced`` they were, all the same."""

    base: Run
    new: Run
    margins: Margins
    forced: bool
    refusals: tuple[Difference, ...]
    warnings: tuple[str, ...]
    rows: tuple[ComparedRow, ...]

    @property
    def outcome(self) -> str:
        """A key of ``EXIT``.  Of a forced comparison only "regression" or "not judged": no good news from unlike runs."""
        if self.refusals and not self.forced:
            return "refused"
        if any(row.verdict == "slower" for row in self.rows):
            return "regression"
        if self.forced:
            return "not judged"
        return "cannot judge" if self.unjudged() else "no regression"

    @property
    def exit_status(self) -> int:
        return EXIT[self.outcome]

    def unjudged(self) -> list[ComparedRow]:
        """Blocks that could not be judged, and in which a regression could hide: those of yardsticks aside."""
        blocks = [row for row in self.rows if row.level == "block" and row.role == "variant"]
        return [row for row in blocks if row.verdict in ("ambiguous", "vanished")]

    def cases(self) -> list[tuple[str, str]]:
        """(workload, case) of every row, as the base run's table has them, then what only the new one has."""
        return list(dict.fromkeys(key[:2] for run in (self.base, self.new) for key in run.rows))

    def counts(self) -> dict[str, int]:
        found = Counter(row.verdict for row in self.rows)
        return {verdict: found[verdict] for verdict in VERDICTS}


def compare(base: Run, new: Run, margins: Margins, *, force: bool = False) -> Comparison:
    """Judge every row of either run, unless the runs may not be compared and nobody forces it."""
    found = list(differences(base.conditions, new.conditions))
    refusals = [*unfit(base, new), *(d for d in found if d.key not in MAY_DIFFER)]
    warnings = [str(d) for d in found if d.key in MAY_DIFFER]
    rows = sorted(compared_rows(base, new, margins), key=order) if force or not refusals else []
    yardsticks = [
        r for r in rows if r.role == "reference" and r.level == "block" and r.verdict in ("slower", "faster")
    ]
    warnings += [
        f"{'/'.join(r.key[:3])}, a yardstick, is {r.verdict} itself: perhaps the machine changed, not the code"
        for r in yardsticks
    ]
    return Comparison(
        base, new, margins, bool(refusals) and force, tuple(refusals), tuple(warnings), tuple(rows)
    )


def refusal(comparison: Comparison) -> Incomparable:
    """The error of a refused comparison, with every key and both values."""
    return Incomparable(
        f"{comparison.new.folder} may not be compared with {comparison.base.folder}",
        expected="the same conditions in both runs, both verified",
        found="\n            ".join(map(str, comparison.refusals)),
        next_step="measure both under the same conditions, or see the rows unjudged with --force (make: FORCE=1)",
    )


def unfit(base: Run, new: Run) -> Iterator[Difference]:
    """What keeps a run from being compared with any other."""
    if (base.verdict, new.verdict) != ("verified", "verified"):
        yield Difference("run", "verdict", base.verdict, new.verdict)
    if base.changed or new.changed:
        texts = ("; ".join(run.changed) or "as judged" for run in (base, new))
        yield Difference("run", "evidence", *texts)


def compared_rows(base: Run, new: Run, margins: Margins) -> Iterator[ComparedRow]:
    for key in dict.fromkeys([*base.rows, *new.rows]):
        pair = [run.samples.get(key, {}) for run in (base, new)]
        if key in base.rows and key in new.rows:
            judgement = judge(*pair, margin(key, base, new, margins))
            if judgement.change_pct is None and (
                reason := base.rows[key]["reason"] or new.rows[key]["reason"]
            ):
                judgement = replace(judgement, reason=reason)
        else:
            judgement = Judgement("vanished" if key in base.rows else "appeared")
        middles, counts = zip(*map(middle_and_count, pair), strict=True)
        yield ComparedRow(key, role(key, base, new), judgement, *middles, *counts)


def role(key: RowKey, base: Run, new: Run) -> str:
    return new.roles.get(key[:3]) or base.roles.get(key[:3]) or "variant"


def middle_and_count(samples: Any) -> tuple[float | None, int]:
    """The median of the witness that a table shows, and how many samples it has."""
    chosen: Sequence[float] = next((samples[w] for w in ("events", "nsys", "torch") if samples.get(w)), ())
    return (median(chosen) if chosen else None), len(chosen)


def margin(key: RowKey, base: Run, new: Run, margins: Margins) -> float | None:
    """The margin of a row, in %: from the slower estimate of what the host and the time stamps contribute."""
    found = []
    for run in (base, new):
        duration, _ = middle_and_count(run.samples.get(key, {}))
        if not duration:
            return None
        row, block = run.rows[key], run.rows.get((*key[:3], "block", key[2], key[5]), {})
        if key[3] == "block":
            busy = row["nsys_median_ns"] or row["torch_median_ns"] or 0
            found.append(margins.of(duration, host_share=max(0.0, 1 - busy / duration)))
        else:
            counted = block if key[3] == "range" else row
            launches = (counted.get("nsys_count") or counted.get("torch_count") or 0) / (
                row["iterations"] or 1
            )
            found.append(margins.of(duration, launches=max(1.0, launches)))
    return max(found)


def order(row: ComparedRow) -> tuple:
    """By interest, then greatest change first; a total order."""
    return VERDICTS.index(row.verdict), -abs(row.judgement.change_pct or 0), row.key
