"""Repeats of a case as one: the launches of all of them in one book, the calls numbered on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..capture import CaseEvidence, Pooled
from ..columnar import NONE
from ..evidence import Book, Instances, Operations
from ..ranks.split import summed_ranges
from ..repeats import folder
from .choices import between_repeats
from .rows import Row


def pool(case: CaseEvidence, rows: Sequence[Sequence[Row]]) -> CaseEvidence:
    """The evidence of all repeats as if one pass had recorded it; ``rows``: the rows of each.

    A book that some repeats lack is that of the others; ``missing_books`` says so in every row.  nsys's
    statistics are computed from the records of all its reports, since no CSV speaks of more than one.
    """
    repeats = case.repeats
    choices = {v: text for v in case.plan.variants if (text := between_repeats(v, rows))}
    torch = {
        variant: join(books)
        for variant in case.plan.variants
        if (books := [part.torch[variant] for part in repeats if variant in part.torch])
    }
    books = [part.nsys for part in repeats if part.nsys]
    nsys = join(books) if books else None
    return replace(
        case,
        records={
            f"{folder(part.repeat)}{key}": record for part in repeats for key, record in part.records.items()
        },
        timing=pooled_timing([part.timing for part in repeats]),
        torch=torch,
        nsys=nsys,
        kernel_stats={},
        ranges=summed_ranges(nsys) if nsys else {},
        further=(),
        pooled=Pooled(repeats, differences(rows), choices),
    )


def join(books: Sequence[Book]) -> Book:
    """Several processes' books as one: calls keep apart, because their numbers go on from book to book."""
    ops, before = [], 0
    for book in books:
        iteration = book.ops.column("iteration")
        ops.append(book.ops.altered(iteration=np.where(iteration == NONE, NONE, iteration + before)))
        before += len(book.ranges)
    lost = sum(book.launches_without_kernel for book in books)
    return replace(
        books[0],
        ops=Operations.joined(ops),
        ranges=Instances.joined([book.ranges for book in books]),
        findings=tuple(finding for book in books for finding in book.findings),
        launches_without_kernel=lost,
    )


def pooled_timing(timings: Sequence[dict[str, Any] | None]) -> dict[str, Any] | None:
    """timing.json with the samples of all repeats; None where one of them cannot be read."""
    if not all(timings):
        return None
    variants = {}
    for variant, entry in timings[0]["variants"].items():
        samples = [t["variants"].get(variant, {}).get("samples_ns", []) for t in timings]
        variants[variant] = {**entry, "samples_ns": sum(samples, []) if all(samples) else []}
    return {**timings[0], "variants": variants}


def differences(repeats: Sequence[Sequence[Row]]) -> dict[tuple[str, str, str], tuple[float, ...]]:
    """(variant, level, name) -> the difference of the medians in each repeat, in %; only where all have one."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for rows in repeats:
        for row in rows:
            if row["difference_pct"] is not None:
                found.setdefault((row["variant"], row["level"], row["name"]), []).append(
                    row["difference_pct"]
                )
    return {key: tuple(values) for key, values in found.items() if len(values) == len(repeats)}
