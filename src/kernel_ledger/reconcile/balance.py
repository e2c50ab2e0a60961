"""When do two entries balance?  Counts first, then medians within a tolerance that grows for short kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi, sqrt
from statistics import stdev

from ..columnar import column
from ..columnar.statistics import absolute_deviation, middle
from ..evidence import Statistics
from ..plan_file import Limits

STANDARD_ERRORS = 3
WIDEST_PCT = 5.0
MAD_TO_STDDEV = 1.4826  # for a normal distribution
MEDIAN_ERROR = sqrt(pi / 2)  # of a median, beside that of a mean, for a normal distribution


def tolerance_pct(
    median_ns: float, limits: Limits, repeats: Sequence[float] = (), scatter: float = 0.0
) -> float:
    """Greatest difference in percent that still balances, for a median duration in ns.

    ``repeats``: the difference of the medians in each repeat, in %.  What two books of the same work differ by is
    a systematic part, which ``agreement_pct`` and the absolute term of short kernels allow for, and chance: the
    mean of k paired differences has the standard error stdev / sqrt(k), and three of them are allowed.  Pairs are
    taken within a repeat, because a drift from repeat to repeat meets both books.  Without repeats, chance is known
    only from how the launches of each book scatter: ``scatter`` is that standard error, in %.  Chance never allows
    more than WIDEST_PCT, and it never narrows the tolerance: launches or repeats that happen to agree do not
    disprove the systematic part.
    """
    least = limits.agreement_pct
    if median_ns < limits.short_kernel_ns:
        least = round(limits.agreement_pct + 100 * limits.short_kernel_extra_ns / median_ns, 4)
    error = stdev(repeats) / sqrt(len(repeats)) if len(repeats) > 1 else scatter
    chance = STANDARD_ERRORS * error
    return max(least, round(min(chance, WIDEST_PCT), 4))


def scatter_pct(torch: Statistics, nsys: Statistics) -> float:
    """Standard error of the difference of two medians, in % of nsys's, from how the launches of each book scatter.

    From the median absolute deviation, which one slow first call does not move.  Zero where a book has fewer than
    three launches: what nobody knows is not allowed for.
    """
    books = [book.durations for book in (torch, nsys)]
    if min(map(len, books)) < 3:
        return 0.0
    deviations = [MAD_TO_STDDEV * absolute_deviation(column(book), middle(column(book))) for book in books]
    error = sqrt(sum(s * s / len(book) for s, book in zip(deviations, books, strict=True)))
    return 100 * MEDIAN_ERROR * error / nsys.median


def odd_repeats(repeats: Sequence[float], limit_pct: float) -> list[str]:
    """Repeats that no spread excuses, each as a sentence: pooled medians would hide one that is far off."""
    most = max(limit_pct, WIDEST_PCT)
    return [
        f"in repeat {number} alone the medians differ by {difference} %, more than {most:g} %"
        for number, difference in enumerate(repeats, 1)
        if abs(difference) > most
    ]


@dataclass(frozen=True)
class Balance:
    """``difference_pct`` and ``tolerance_pct`` are None where one side has no duration.  ``reasons``: what is
    wrong; of a row that balances, why its tolerance is a wider one."""

    status: str
    reasons: tuple[str, ...]
    difference_pct: float | None = None
    tolerance_pct: float | None = None


def compare_counts(torch: int, nsys: int, expected: int | None, iterations: int) -> list[str]:
    """What is wrong with the counts of a row, each as a sentence."""
    wrong = []
    if expected is not None and not torch == nsys == expected:
        wrong.append(f"the program announced {expected}, torch counted {torch}, nsys counted {nsys}")
    elif torch != nsys:
        wrong.append(f"torch counted {torch}, nsys counted {nsys}")
    elif iterations and torch % iterations:
        wrong.append(f"{torch} is not a multiple of the {iterations} iterations")
    return wrong


def balance(
    torch: Statistics | None,
    nsys: Statistics | None,
    expected: int | None,
    iterations: int,
    limits: Limits,
    repeats: Sequence[float] = (),
    *,
    alike: bool = True,
) -> Balance:
    """Weigh the durations of one row from two readable books.  ``repeats``: as for ``tolerance_pct``.

    ``alike``: the durations are of one kind; those of an operator's several kernels differ for other reasons than chance.
    """
    if torch is None and nsys is None:
        return Balance("disagree", (f"the program announced {expected} launches; neither book has one",))
    if torch is None:
        return Balance(
            "nsys_only",
            (f"nsys recorded {nsys.count}, the torch trace none of this name and launch geometry",),
        )
    if nsys is None:
        return Balance(
            "torch_only", (f"torch recorded {torch.count}, nsys none of this name and launch geometry",)
        )
    wrong = compare_counts(torch.count, nsys.count, expected, iterations)
    if min(torch.least, nsys.least) <= 0:
        return Balance("disagree", (*wrong, "a duration of zero or less is no measurement"))
    difference = round(100 * (torch.median - nsys.median) / nsys.median, 4)
    least = tolerance_pct(min(torch.median, nsys.median), limits)
    scatter = scatter_pct(torch, nsys) if alike else 0.0
    limit = tolerance_pct(min(torch.median, nsys.median), limits, repeats, scatter)
    if abs(difference) > limit:
        wrong.append(f"medians differ by {difference} %, more than {limit} %")
    wrong += odd_repeats(repeats, limit)
    of = f"of {len(repeats)} repeats" if len(repeats) > 1 else "of the medians, as the launches scatter"
    spread = f"the tolerance is {limit} %, not {least} %: {STANDARD_ERRORS} standard errors {of}"
    reasons = [*wrong, *([spread] if limit > least else [])]
    return Balance("disagree" if wrong else "verified", tuple(reasons), difference, limit)
