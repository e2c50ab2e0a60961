"""Rows of the result table as dictionaries, with the parts that all levels share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..capture import CaseEvidence
from ..columns import NAMES
from ..evidence import Statistics
from ..plan_file import Limits
from .balance import balance
from .silence import silent_books

Row = dict[str, Any]
CPU_REASON = "device=cpu: no kernel was launched on a GPU"


def blank(case: CaseEvidence, variant: str, level: str, name: str, iterations: int | None) -> Row:
    """A row with its identity and nothing measured yet."""
    row: Row = dict.fromkeys(NAMES)
    row.update(workload=case.plan.workload, case=case.plan.case, variant=variant, level=level, name=name)
    row.update(rank=case.rank, device=device_of(case))
    row["iterations"] = iterations
    return row


def device_of(case: CaseEvidence) -> str | None:
    """Where the process ran, as torch names it; None where nothing tells."""
    if case.device == "cpu":
        return "cpu"
    told = [(record.get("gpu") or {}).get("index") for record in case.records.values()]
    books = [*case.torch.values(), *([case.nsys] if case.nsys else [])]
    seen = [device for book in books for device in book.ops[:1].decoded("device")]
    index = next((number for number in [*told, *seen] if number is not None), None)
    return None if index is None else f"cuda:{index}"


def fill(row: Row, book: str, stats: Statistics | None) -> None:
    """Enter one book's statistics; ``book`` is "torch" or "nsys"."""
    row[f"{book}_count"] = stats.count if stats else 0
    if stats is None:
        return
    row[f"{book}_total_ns"], row[f"{book}_median_ns"] = stats.total, stats.median
    row[f"{book}_min_ns"], row[f"{book}_max_ns"] = stats.least, stats.most
    if book == "nsys" and stats.stddev is not None:
        row["nsys_stddev_ns"] = round(stats.stddev, 1)


def say(row: Row, reasons: Iterable[str]) -> None:
    """Add reasons to a row, each once, in order."""
    known = [part for part in (row["reason"] or "").split("; ") if part]
    row["reason"] = "; ".join(dict.fromkeys([*known, *reasons])) or None


def unreadable_books(case: CaseEvidence, variant: str) -> dict[str, str]:
    """Book -> why it cannot be read, each as a sentence; empty when both can."""
    if case.pooled:
        return of_repeats(case.pooled.repeats, variant, unreadable_books)
    reasons = {}
    if variant and variant not in case.torch:
        reasons["torch"] = "the torch book cannot be read: " + why(case, f"torch/{variant}/")
    if case.nsys is None:
        reasons["nsys"] = "the nsys book cannot be read: " + (case.nsys_absent or why(case, "nsys/"))
    return reasons


def of_repeats(
    repeats: Sequence[CaseEvidence], variant: str, reasons: Callable[[CaseEvidence, str], dict[str, str]]
) -> dict[str, str]:
    """Book -> the reason of the first repeat that has one."""
    return {
        book: f"repeat {part.repeat}: {text}"
        for part in reversed(repeats)
        for book, text in reasons(part, variant).items()
    }


def missing_books(case: CaseEvidence, variant: str) -> dict[str, str]:
    """Book -> why it cannot say how often this variant launched anything: unreadable, or silent."""
    if case.pooled:
        return of_repeats(case.pooled.repeats, variant, missing_books)
    return silent_books(case, variant) | unreadable_books(case, variant)


def why(case: CaseEvidence, prefix: str) -> str:
    texts = [f.text for f in case.findings if f.file.startswith(prefix)]
    return texts[0] if texts else "its file is missing"


def settle(
    row: Row,
    case: CaseEvidence,
    torch: Statistics | None,
    nsys: Statistics | None,
    limits: Limits,
    unknown: Iterable[str] = (),
) -> None:
    """Enter both books and the status of a row of GPU work."""
    missing, unknown = missing_books(case, row["variant"]), list(unknown)
    if torch is not None or (row["variant"] in case.torch and "torch" not in missing):
        fill(row, "torch", torch)
    if nsys is not None or not ("nsys" in missing or unknown):
        fill(row, "nsys", nsys)
    if missing or unknown:
        row["status"] = "unknown"
        say(row, [*missing.values(), *unknown])
        return
    repeats = (
        case.pooled.differences.get((row["variant"], row["level"], row["name"]), ()) if case.pooled else ()
    )
    result = balance(
        torch,
        nsys,
        row["expected_count"],
        row["iterations"] or 0,
        limits,
        repeats,
        alike=row["level"] != "operator",
    )
    row["status"], row["difference_pct"], row["tolerance_pct"] = (
        result.status,
        result.difference_pct,
        result.tolerance_pct,
    )
    say(row, result.reasons)
    if nsys is not None and nsys.stddev is None:
        say(row, ["one sample has no standard deviation"])
