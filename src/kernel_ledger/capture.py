"""Reads the capture of one case: every file that its passes left, and what is wrong with each.

A file that cannot be read becomes a Finding for the check it concerns; it never becomes an empty book.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from . import kineto
from .dropped import lost_records
from .errors import EvidenceError
from .evidence import Book, Finding, Statistics
from .files import read_json, sha256
from .nsys import book as nsys_book
from .plan_file import CONTROL, Plan, PlannedCase
from .ranks.naming import ranked
from .ranks.split import nsys_of_rank, record_of_rank, summed_ranges
from .repeats import PREFIX, folder

Value = TypeVar("Value")
RANKED = ("trace.json.gz", "timing.json", "numerics.json")
LEFT_OUT = "the plan leaves it out, as where device=cpu finds no nsys; install Nsight Systems and run again"


@dataclass(frozen=True)
class Pooled:
    """What evidence that was pooled over repeats knows of them.

    ``differences``: (variant, level, name) -> each repeat's difference of medians in %, where all have one.
    ``choices``: variant -> which kernels ran in some repeats only, as a sentence.
    """

    repeats: tuple[CaseEvidence, ...]
    differences: Mapping[tuple[str, str, str], tuple[float, ...]]
    choices: Mapping[str, str]


@dataclass(frozen=True)
class CaseEvidence:
    """All evidence of one case.

    ``records``: pass ("timing", "nsys", "torch/<variant>") -> its run.json.  ``torch``: variant -> book.
    ``kernel_stats``: (range, symbol) -> the row of cuda_gpu_kern_sum_by_range.csv; ``ranges``: range ->
    its rows of nvtx_sum.csv and nvtx_gpu_proj_sum.csv.  ``totals``: of the other two kernel summaries, by
    file and range: (kernels, ns in all).  ``hashes``: file -> SHA-256 as it is on disk now.
    ``further``: the same of the other repeats; ``control``: the run's collision_control.json.
    ``members``: of a group of processes, the evidence of each rank, which is then ``rank``; the books of the whole
    are the first rank's traces and nsys's of all processes.
    """

    plan: PlannedCase
    device: str
    folder: Path
    records: Mapping[str, dict[str, Any]]
    numerics: dict[str, Any] | None
    timing: dict[str, Any] | None
    export: dict[str, Any] | None
    torch: Mapping[str, Book]
    nsys: Book | None
    kernel_stats: Mapping[tuple[str | None, str], Statistics]
    ranges: Mapping[str, nsys_book.RangeRow]
    totals: Mapping[str, Mapping[str | None, tuple[int, int]]]
    findings: tuple[Finding, ...]
    hashes: Mapping[str, str]
    passes: tuple[str, ...]
    repeat: int = 1
    further: tuple[CaseEvidence, ...] = ()
    control: dict[str, Any] | None = None
    pooled: Pooled | None = None
    rank: int = 0
    members: tuple[CaseEvidence, ...] = ()

    @property
    def ranks(self) -> tuple[CaseEvidence, ...]:
        """The evidence of each process that was measured: of every rank, or of the one that there is."""
        return self.members or (self,)

    @property
    def repeats(self) -> tuple[CaseEvidence, ...]:
        """The evidence of each of measure.repeats, the first included."""
        return (self, *self.further)

    def source(self, name: str) -> str:
        """``file@hash`` of a file of this capture, for the table's source columns; of every repeat, if pooled."""
        if self.pooled:
            return "; ".join(filter(None, (part.source(name) for part in self.pooled.repeats)))
        own = ranked(name, self.rank) if name.endswith(RANKED) else name
        return f"{folder(self.repeat)}{own}@{self.hashes[own][:12]}" if own in self.hashes else ""

    @property
    def nsys_absent(self) -> str | None:
        """Why there was no nsys pass (device=cpu without nsys), or None where there was one."""
        if "nsys" not in self.passes:
            return LEFT_OUT
        return self.records.get("nsys", {}).get("absent")


class Reader:
    """Collects what cannot be read while the rest of the capture still is."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.findings = folder, []

    def attempt(self, check: str, name: str, read: Callable[[Path], Value]) -> Value | None:
        try:
            return read(self.folder / name)
        except EvidenceError as error:
            self.findings.append(
                Finding(check, " ".join(str(error).replace(str(self.folder) + "/", "").split()), name)
            )
            return None

    def json(self, name: str, check: str = "freshness") -> dict[str, Any] | None:
        return self.attempt(check, name, read_record)


def read_case(plan: Plan, case: PlannedCase, captures: Path) -> CaseEvidence:
    """Read everything in ``captures/<workload>/<case>``, and the control of the whole run."""
    place, above = captures / case.workload / case.case, Reader(captures)
    control = above.attempt(CONTROL, CONTROL, read_record) if plan.collision_control else None
    numerics = Reader(place)
    measured = numerics.json("numerics.json", "numerics")
    first, *further = (
        read_repeat(plan, case, place / folder(repeat), repeat, measured)
        for repeat in range(1, plan.repeats_of(case) + 1)
    )
    found = (*first.findings, *numerics.findings, *above.findings)
    whole = replace(first, findings=found, further=tuple(further), control=control)
    return replace(whole, members=tuple(members(whole, place)))


def read_record(path: Path) -> dict[str, Any]:
    return read_json(path, format=1)


def read_repeat(
    plan: Plan, case: PlannedCase, folder: Path, repeat: int, numerics: dict[str, Any] | None
) -> CaseEvidence:
    """Read everything in the folder of one repeat.  ``numerics``: of the case; it is not repeated."""
    reader = Reader(folder)
    announced = {case.range_name(v) for v in case.variants}
    names = {
        "timing": "run.json",
        **({"nsys": "nsys/run.json"} if "nsys" in plan.passes else {}),
        **{f"torch/{v}": f"torch/{v}/run.json" for v in case.variants},
    }
    records = {key: record for key, name in names.items() if (record := reader.json(name)) is not None}
    books = {}
    for variant in case.variants:
        name = f"torch/{variant}/trace.json.gz"
        book = reader.attempt("structure", name, lambda path: kineto.read(path, announced))
        if book is not None:
            books[variant] = book
    nsys, kernel_stats, ranges, export, totals = None, {}, {}, None, {}
    if "nsys" in plan.passes and "absent" not in records.get("nsys", {}):
        export = reader.json("nsys/export.json", "export")
        processes = case.world_size or 1
        nsys = reader.attempt(
            "structure", "nsys/report.sqlite", lambda path: nsys_book.read(path, announced, processes)
        )
        ranges = reader.attempt("export", "nsys", lambda path: nsys_book.read_ranges(path, announced)) or {}
        if plan.device == "cuda":
            name = "nsys/cuda_gpu_kern_sum_by_range.csv"
            kernel_stats = (
                reader.attempt("export", name, lambda path: nsys_book.read_kernels(path, announced)) or {}
            )
            for name in ("nvtx_kern_sum.csv", "cuda_gpu_kern_sum.csv"):
                found = reader.attempt(
                    "export", f"nsys/{name}", lambda path: nsys_book.read_totals(path, announced)
                )
                totals |= {name: found} if found is not None else {}
    reader.findings += lost(folder, records, export)
    return CaseEvidence(
        plan=case,
        device=plan.device,
        folder=folder,
        records=records,
        numerics=numerics,
        timing=reader.json("timing.json"),
        export=export,
        torch=books,
        nsys=nsys,
        kernel_stats=kernel_stats,
        ranges=ranges,
        totals=totals,
        findings=tuple(reader.findings),
        hashes=hashes(folder),
        passes=plan.passes,
        repeat=repeat,
    )


def lost(
    folder: Path, records: Mapping[str, dict[str, Any]], export: dict[str, Any] | None
) -> Iterator[Finding]:
    """What the profilers said of records that they lost: in logs, warnings and nsys's diagnostics."""
    for key, record in records.items():
        log, said = folder / key / "log.txt", [warning["text"] for warning in record.get("warnings", ())]
        if log.is_file():
            said.append(log.read_text(errors="replace"))
        if key == "nsys" and export is not None:
            said += [part["text"] for part in export.get("diagnostics", ())]
        for text in lost_records(said):
            yield Finding("conservation", text, f"{key}/log.txt")


def hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of every file of a capture, by its path within the folder; those of further repeats are theirs."""
    files = [p.relative_to(folder) for p in sorted(folder.rglob("*")) if p.is_file()]
    return {str(p): sha256(folder / p) for p in files if not p.parts[0].startswith(PREFIX)}


def members(whole: CaseEvidence, place: Path) -> Iterator[CaseEvidence]:
    """The evidence of each rank of a group, with that of its repeats.  ``place``: the case's folder."""
    for rank in range(whole.plan.world_size or 0):
        numerics = Reader(place)
        measured = numerics.json(ranked("numerics.json", rank), "numerics")
        first, *further = (of_rank(part, rank, measured) for part in whole.repeats)
        found = (*first.findings, *numerics.findings)
        yield replace(first, findings=found, further=tuple(further), control=whole.control)


def of_rank(part: CaseEvidence, rank: int, numerics: dict[str, Any] | None) -> CaseEvidence:
    """What the files of one repeat hold of one rank.

    nsys's CSVs add the ranks up, so a rank's statistics are those of its own records in report.sqlite.
    """
    reader, announced = Reader(part.folder), {part.plan.range_name(v) for v in part.plan.variants}
    books, timing = dict(part.torch), part.timing
    if rank:
        timing, books = reader.json(ranked("timing.json", rank)), {}
        for variant in part.plan.variants:
            name = ranked(f"torch/{variant}/trace.json.gz", rank)
            book = reader.attempt("structure", name, lambda path: kineto.read(path, announced))
            books |= {variant: book} if book is not None else {}
    nsys = None if part.nsys is None else nsys_of_rank(part.nsys, part.records.get("nsys", {}), rank)
    reader.findings += [f for f in part.findings if not rank or not f.file.endswith(RANKED)]
    return replace(
        part,
        rank=rank,
        records={name: record_of_rank(record, rank) for name, record in part.records.items()},
        numerics=of_own_run(numerics, rank),
        timing=of_own_run(timing, rank),
        torch=books,
        nsys=nsys,
        kernel_stats={},
        ranges=summed_ranges(nsys) if nsys else {},
        totals={},
        findings=tuple(reader.findings),
        further=(),
    )


def of_own_run(value: dict[str, Any] | None, rank: int) -> dict[str, Any] | None:
    """numerics.json or timing.json with the record of the rank's own run."""
    return value and {**value, "run": record_of_rank(value.get("run", {}), rank)}
