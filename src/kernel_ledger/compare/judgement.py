"""What the samples of one row say: same, faster, slower, or ambiguous.

The interval says how well a run knows its own durations; it knows nothing of what differs from process to
process.  The margin allows for that: only an interval beyond it is a change, only one inside it is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .intervals import CONFIDENCE, Ratio, ratio
from .samples import Samples

VERDICTS = ("slower", "vanished", "ambiguous", "faster", "appeared", "same")  # in the order of interest
TOO_FEW = "too few samples for an interval; raise measure.iterations to 5 or more"


@dataclass(frozen=True)
class Margins:
    """``threshold_pct``: what two runs of the same code may differ by.  ``host_pct``: the same for the part of
    a call in which the GPU waits for the host.  ``tick_ns``: the step of a GPU's time stamps, for each launch."""

    threshold_pct: float = 2.0
    host_pct: float = 10.0
    tick_ns: int = 32

    def of(self, duration_ns: float, *, host_share: float = 0.0, launches: float = 1.0) -> float:
        """The margin in % of a row that takes ``duration_ns``."""
        ticks = 100 * self.tick_ns * launches / duration_ns
        return round(self.threshold_pct + self.host_pct * host_share + ticks, 3)


@dataclass(frozen=True)
class Judgement:
    """All in % of the base run; ``witnesses``: each one's own change.  None where there is no telling."""

    verdict: str
    change_pct: float | None = None
    low_pct: float | None = None
    high_pct: float | None = None
    margin_pct: float | None = None
    witnesses: Mapping[str, float] | None = None
    reason: str | None = None


def judge(base: Samples, new: Samples, margin_pct: float) -> Judgement:
    """Weigh the samples of a row.  Where two books are due, what one of them says alone is ambiguous."""
    confidence = CONFIDENCE[min(len(base), 2) or 1]
    ratios = {witness: ratio(base[witness], new.get(witness, ()), confidence) for witness in base}
    lacking = [witness for witness, found in ratios.items() if found is None]
    known = {witness: found for witness, found in ratios.items() if found is not None}
    if not known:
        return Judgement("ambiguous", margin_pct=margin_pct, reason="no samples in both runs")
    changes = {witness: percent(found.estimate) for witness, found in known.items()}
    middle = round(sum(changes.values()) / len(changes), 3)
    if any(found.low is None for found in known.values()):
        return Judgement("ambiguous", middle, None, None, margin_pct, changes, TOO_FEW)
    low, high = hull(known)
    verdict, reason = classify(low, high, margin_pct), None
    if lacking:
        verdict, reason = "ambiguous", f"no samples of {', '.join(lacking)} in both runs"
    elif verdict == "ambiguous":
        alone = {w: classify(percent(f.low), percent(f.high), margin_pct) for w, f in known.items()}
        reason = "interval and margin overlap: " + ", ".join(
            f"{verdict} by {w}" for w, verdict in alone.items()
        )
    return Judgement(verdict, middle, low, high, margin_pct, changes, reason)


def hull(known: Mapping[str, Ratio]) -> tuple[float, float]:
    """The interval that holds those of all witnesses: beyond a margin only where each of them is."""
    return percent(min(f.low for f in known.values())), percent(max(f.high for f in known.values()))


def classify(low: float, high: float, margin_pct: float) -> str:
    """Where an interval lies.  As factors, the margin is the same on both sides: 1.02 and 1 / 1.02."""
    below = percent(1 / (1 + margin_pct / 100))
    if low > margin_pct:
        return "slower"
    if high < below:
        return "faster"
    return "same" if below <= low and high <= margin_pct else "ambiguous"


def percent(factor: float) -> float:
    return round(100 * (factor - 1), 3)
