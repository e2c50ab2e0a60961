"""Where a series of medians, one a run, changed its level: one rule, without a distribution and without a seed.

The level is the median of the runs since the last change, of the LATEST of them at most.  A run begins a new level if
it and the next CONFIRM - 1 runs all lie on one side of the level, each further off than the greater of

    MIN_PCT of the level, and SIGMAS x 1.4826 x MAD of those same runs x (1 + 8 / their number)

The first is what two runs of the same code may differ by; the second follows the noise that the series has, with an
allowance for a MAD of few runs.  One odd run, or two, are no change.  Nothing is marked before FIRST runs are there, and
the last CONFIRM - 1 runs of a series can only be suspected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

FIRST = 6
LATEST = 30
CONFIRM = 3
MIN_PCT = 1.0
SIGMAS = 3.0
TO_SIGMA = 1.4826  # of a normal distribution


@dataclass(frozen=True)
class Change:
    """``index``: of the first run on the new level; ``confirmed``: whether enough runs have followed."""

    index: int
    before: float
    after: float
    confirmed: bool

    @property
    def pct(self) -> float:
        return 100 * (self.after / self.before - 1)


def changes(values: Sequence[float]) -> list[Change]:
    """All changes of level in a series in the order of time, positive and in one unit."""
    found: list[Change] = []
    start, index = 0, FIRST
    while index < len(values):
        level, limit = usual(values[max(start, index - LATEST) : index])
        ahead = values[index : index + CONFIRM]
        side = 1 if ahead[0] > level else -1
        if all(side * (value - level) > limit for value in ahead):
            found.append(Change(index, level, median(ahead), len(ahead) == CONFIRM))
            start, index = index, index + FIRST
        else:
            index += 1
    return found


def usual(values: Sequence[float]) -> tuple[float, float]:
    """The level of some runs, and how far off a run is no longer one of them."""
    level = median(values)
    mad = median(abs(value - level) for value in values)
    return level, max(level * MIN_PCT / 100, SIGMAS * TO_SIGMA * mad * (1 + 8 / len(values)))
