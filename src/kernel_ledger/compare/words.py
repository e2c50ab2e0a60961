"""The sentences that Markdown and HTML share."""

from __future__ import annotations

from .comparison import ComparedRow, Comparison
from .intervals import CONFIDENCE

SIGNS = {"slower": "▲ slower", "faster": "▼ faster", "same": "= same", "ambiguous": "? ambiguous",
         "appeared": "+ appeared", "vanished": "− vanished"}  # fmt: skip
FORCED = "FORCED: these runs may not be compared, for the reasons below. Nothing here says that the code is faster or slower."


def headline(comparison: Comparison) -> str:
    return f"{comparison.new.name} against {comparison.base.name}: {comparison.outcome}"


def verdict_sentence(comparison: Comparison) -> str:
    """What the outcome means, with its numbers."""
    counts = comparison.counts()
    told = ", ".join(f"{number} {verdict}" for verdict, number in counts.items() if number)
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
