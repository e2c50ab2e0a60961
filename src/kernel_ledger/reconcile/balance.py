"""When do two entries balance?  Counts first, then medians within a tolerance that grows for short kernels."""

from __future__ import annotations

from dataclasses import dataclass

from ..evidence import Statistics
from ..plan_file import Limits


def tolerance_pct(median_ns: float, limits: Limits) -> float:
    """Greatest difference in percent that still balances, for a median duration in ns."""
    if median_ns >= limits.short_kernel_ns:
        return limits.agreement_pct
    return round(limits.agreement_pct + 100 * limits.short_kernel_extra_ns / median_ns, 4)


@dataclass(frozen=True)
class Balance:
    """``difference_pct`` and ``tolerance_pct`` are None where one side has no duration."""

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
    torch: Statistics | None, nsys: Statistics | None, expected: int | None, iterations: int, limits: Limits
) -> Balance:
    """Weigh the durations of one row from two readable books."""
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
    limit = tolerance_pct(min(torch.median, nsys.median), limits)
    if abs(difference) > limit:
        wrong.append(f"medians differ by {difference} %, more than {limit} %")
    return Balance("disagree" if wrong else "verified", tuple(wrong), difference, limit)
