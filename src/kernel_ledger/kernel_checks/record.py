"""results.csv and summary.json of the checks, and what a person sees of them."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..files import sha256, write_json, write_text
from ..passes.facts import gpu, versions
from .checks import FAIL, NOT_RUN, Result

FORMAT = 1  # 1: the first
COLUMNS = ("kernel", "check", "size", "status", "error", "reason")


def table_text(results: Sequence[Result]) -> str:
    """The results as CSV; ``error`` in units of the tolerance."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for result in results:
        error = "" if result.error is None else f"{result.error:.6g}"
        size = "" if result.size is None else result.size
        writer.writerow([result.kernel, result.check, size, result.status, error, result.reason])
    return stream.getvalue()


def write_results(
    folder: Path, device: str, library: Path, results: Sequence[Result], sanitizers: Mapping[str, Any]
) -> bool:
    """Write both files; whether everything that ran passed."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "results.csv", table_text(results))
    counts = Counter(result.status for result in results)
    passed = not counts[FAIL] and all(entry["status"] != "fail" for entry in sanitizers.values())
    summary = {
        "format": FORMAT,
        "passed": passed,
        "device": device,
        "counts": dict(sorted(counts.items())),
        "versions": versions({}),
        "gpu": gpu() if device == "cuda" else None,
        "library_sha256": sha256(library),
        "sanitizers": dict(sanitizers),
    }
    write_json(folder / "summary.json", summary)
    return passed


def told(results: Sequence[Result], sanitizers: Mapping[str, Any]) -> str:
    """A line for each kernel, each failure, and each thing that was not run."""
    lines = []
    for name in dict.fromkeys(result.kernel for result in results):
        own = [result for result in results if result.kernel == name]
        counts = Counter(result.status for result in own)
        lines.append(f"{name}: " + ", ".join(f"{counts[s]} {s}" for s in sorted(counts)))
        lines += [
            f"    {r.check} ({r.size}): {r.status}: {r.reason}" for r in own if r.status in (FAIL, NOT_RUN)
        ]
    lines += [f"{tool}: {entry['status']}" + (f": {entry['reason']}" if entry["reason"] else "")
              for tool, entry in sanitizers.items()]  # fmt: skip
    return "\n".join(lines)
