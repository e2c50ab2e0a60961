"""The sentences that Markdown and HTML share."""

from __future__ import annotations

from .comparison import ComparedRow, Comparison
from .intervals import CONFIDENCE

SIGNS = {"slower": "▲ slower", "faster": "▼ faster", "same": "= same", "ambiguous": "? ambiguous",
         "appeared": "+ appeared", "vanished": "− vanished"}  # fmt: skip


def headline(comparison: Comparison) -> str:
    """The first line of everything; of a forced comparison, first of all that it was forced, and against what."""
    judged = f"{comparison.new.name} against {comparison.base.name}: {comparison.outcome}"
    return f"FORCED: {unlike(comparison)}. {judged}" if comparison.forced else judged


def unlike(comparison: Comparison) -> str:
    """In which conditions the runs differ, or what else keeps them from being compared."""
    keys = dict.fromkeys(d.key for d in comparison.refusals if d.base != d.new)
    told = [f"runs differ in {', '.join(keys)}"] if keys else []
    told += [f"neither has the {d.key} that it needs" for d in comparison.refusals if d.base == d.new]
    return "; ".join(told)


def verdict_sentence(comparison: Comparison) -> str:
    """What the outcome means, with its numbers."""
    counts = comparison.counts()
    told = ", ".join(f"{number} {verdict}" for verdict, number in counts.items() if number)
    if comparison.forced:
        return (
            "These runs may not be compared, so nothing here says that the code is faster, slower or the same. "
            f"What the rows would say of runs that are alike: {told or 'nothing'}."
        )
    if comparison.outcome == "refused":
        return "These runs may not be compared: they were not made under the same conditions."
    if comparison.outcome == "regression":
        worst = max(
            (r for r in comparison.rows if r.verdict == "slower"), key=lambda r: r.judgement.change_pct
        )
        return f"Slower beyond the margin, worst {worst.judgement.change_pct:+.2f} %. Rows: {told}."
    if comparison.outcome == "cannot judge":
        names = ", ".join("/".join(row.key[:3]) for row in comparison.unjudged())
        return f"No row is slower beyond doubt, but a regression could hide in: {names}. Rows: {told}."
    return f"No row is slower. Rows: {told or 'none'}."


def method(comparison: Comparison) -> str:
    margins = comparison.margins
    return (
        "Change: median of all ratios of a new call to a base call, with its exact interval (Hodges–Lehmann). "
        f"A block is judged by CUDA events at {CONFIDENCE[1]:.0%}, every other row by both books at {CONFIDENCE[2]:.0%} each, "
        f"and their intervals are joined. Margin: {margins.threshold_pct:g} % for what differs from process to process, "
        f"{margins.host_pct:g} % of the part of a block in which the GPU waits for the host, {margins.tick_ns} ns for each "
        "launch. Slower or faster: the whole interval is beyond the margin. Same: the whole interval is inside it. "
        "Ambiguous: neither."
    )


def interval(row: ComparedRow) -> str:
    found = row.judgement
    if found.low_pct is None or found.high_pct is None:
        return "–"
    return f"{found.low_pct:+.2f} … {found.high_pct:+.2f} %"
