"""One report of `nsys stats`, run into a fresh file and believed only with the tool's own success line.

The tool exits with 0 when it skips a report, knows no such report, or fails inside one, and leaves an
empty CSV each time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from .. import process
from ..errors import EvidenceError
from ..files import sha256
from .rows import KernelRow
from .tables import COLUMNS, OLD_KERNELS, read_stats_csv, split_range_symbol

Kernels = Sequence[KernelRow] | None


@dataclass(frozen=True)
class Report:
    """A CSV of a capture.  ``names``: of the report, newest first; ``arguments``: each must be known to
    the tool; ``kernels``: it needs CUDA kernels, which a recording on the CPU has not."""

    csv: str
    names: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    kernels: bool = True


REPORTS = (
    Report("nvtx_sum.csv", ("nvtx_sum", "nvtxsum"), kernels=False),
    Report("nvtx_gpu_proj_sum.csv", ("nvtx_gpu_proj_sum",)),
    Report("nvtx_kern_sum.csv", ("nvtx_kern_sum", "nvtxkernsum")),
    Report("cuda_gpu_kern_sum.csv", ("cuda_gpu_kern_sum", "gpukernsum")),
    Report("cuda_gpu_kern_sum_by_range.csv", ("cuda_gpu_kern_sum", "gpukernsum"), ("nvtx-name", "mangled")),
)
"""nsys 2022 has the second names; it has no summary of projections (nvtxgpuproj is a trace) nor by range."""

OURS = "kernel-ledger"
LOST_RANGES = " (nvtx 0.2.12 and later lose every range under nsys 2023.4 and older; nvtx 0.2.11 does not)"


@dataclass(frozen=True)
class Outcome:
    """``status``: "ok", "empty" (rightly without rows: the CSV holds the header alone) or "failed" (the
    CSV is an empty file); ``reason`` of the latter two; ``success_line``: the tool's own; ``computed_by``: the
    tool, or OURS where the report was computed from the SQLite export."""

    status: str
    reason: str | None
    rows: int
    success_line: str | None
    sha256: str | None
    computed_by: str = "nsys stats"


@dataclass(frozen=True)
class Stats:
    """A tool and how it is run.  ``known``: report -> its arguments, from the tool's own list."""

    nsys: Path
    environment: Mapping[str, str]
    log: Path
    timeout_s: float
    known: Mapping[str, tuple[str, ...]]


def known_reports(help_text: str) -> dict[str, tuple[str, ...]]:
    """Report -> arguments, from what `nsys stats --help-reports` prints."""
    lines = re.findall(r"^\s+([a-z0-9_]+)((?:\[:[^\]]*\])*) -- ", help_text, re.MULTILINE)
    return {name: tuple(re.findall(r"[\w-]+", options)) for name, options in lines}


def run_report(stats: Stats, report: Report, sqlite: Path, kernels: Kernels, device: str) -> dict:
    """Run one report on ``sqlite``, leaving the CSV beside it under its name in a capture.

    Returns the outcome as export.json has it.  ``kernels``: of that SQLite file, to see whether the
    mangled names were used.
    """
    target = sqlite.with_name(report.csv)
    outcome = _run(stats, report, sqlite, kernels, device)
    if outcome.status == "empty":
        target.write_text(",".join(COLUMNS[report.csv]) + "\n")
    elif outcome.status == "failed":
        target.write_bytes(b"")
    return {**asdict(outcome), "sha256": sha256(target)}


def _run(stats: Stats, report: Report, sqlite: Path, kernels: Kernels, device: str) -> Outcome:
    name = next((n for n in report.names if n in stats.known), None)
    lacking = [a for a in report.arguments if name and a not in stats.known[name]]
    if name is None or lacking:
        missing = f"the report {report.names[0]}" if name is None else f"the argument {lacking[0]} of {name}"
        return _failed(f"this nsys does not have {missing}; a newer nsys has")
    full_name = ":".join((name, *report.arguments))
    output = f"stats_{report.csv.removesuffix('.csv')}"
    command = [stats.nsys, "stats", "--report", full_name, "--format", "csv", "--output", output, sqlite.name]
    finished = process.run(
        command, environment=stats.environment, log=stats.log, timeout_s=stats.timeout_s, cwd=sqlite.parent
    )
    written = sorted(sqlite.parent.glob(f"{output}_*.csv"))
    line = success_line(finished.output)
    if finished.timed_out or finished.exit_status != 0:
        how = "ran past the time limit" if finished.timed_out else f"ended with status {finished.exit_status}"
        return _failed(f"nsys stats {how}: {finished.last_lines(3)}")
    if line is None:
        reason = failure(finished.output)
        legitimate = device == "cpu" and report.kernels and re.search(r"does not contain (CUDA|GPU)", reason)
        return Outcome("empty", reason, 0, None, None) if legitimate else _failed(reason)
    if len(written) != 1:
        return _failed(f"nsys stats said it had processed the report, but left {len(written)} files")
    return _checked(report, name, written[0], kernels, line)


def _checked(report: Report, name: str, written: Path, kernels: Kernels, line: str) -> Outcome:
    """Header, rows and names of a CSV that the tool says it wrote; takes its final name if they hold."""
    columns = OLD_KERNELS if name == "gpukernsum" else COLUMNS[report.csv]
    try:
        rows = read_stats_csv(written, columns)
    except EvidenceError as error:
        return _failed(" ".join(f"{error.what}: {error.found}".split()), line)
    if not rows:
        return _failed("the report has a header and no rows", line)
    if "mangled" in report.arguments:
        reason = fallen_back([str(r["Name"]) for r in rows], kernels or ())
        if reason:
            return _failed(reason, line)
    written.rename(written.with_name(report.csv))
    return Outcome("ok", None, len(rows), line, None)


def success_line(output: str) -> str | None:
    """The line in which `nsys stats` says that it wrote the report, or None."""
    match = re.search(r"to \[[^\]]*\]\.\.\. PROCESSED", output)
    return match[0] if match and not re.search(r"^ERROR", output, re.MULTILINE) else None


def failure(output: str) -> str:
    """Why there was no success line, in the tool's words."""
    for pattern in (r"Exportation error: .*", r"ERROR: .*", r"SKIPPED: .*"):
        if match := re.search(pattern, output):
            return match[0].strip() + (LOST_RANGES if "(NVTX)" in match[0] else "")
    return f"nsys stats gave no success line: {' '.join(output.split())[-200:] or 'no output'}"


def fallen_back(names: Sequence[str], kernels: Sequence[KernelRow]) -> str | None:
    """Whether ``:mangled`` silently gave demangled names; the reason, or None where it did not."""
    symbols = {k.symbol for k in kernels if k.symbol}
    if not symbols:
        return "the recording has no mangled names: :mangled fell back; record with a newer nsys"
    ranges = {name for k in kernels for name in k.range_path}
    foreign = [n for n in names if n not in symbols and split_range_symbol(n, ranges)[1] not in symbols]
    if foreign:
        return f":mangled fell back: {len(foreign)} names are no symbols of the recording, as {foreign[0]!r}"
    return None


def _failed(reason: str, line: str | None = None) -> Outcome:
    return Outcome("failed", " ".join(reason.split()), 0, line, None)
