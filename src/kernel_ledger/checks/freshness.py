"""freshness: the SHA-256 of every file is the one that its pass (or the export) recorded."""

from __future__ import annotations

from collections.abc import Iterator

from ..capture import CaseEvidence
from ..plan_file import Plan
from .outcome import Outcome, Parts, findings, missing_records

NEXT = "restore the file as its pass wrote it, or remove the case's folder under captures/ and run snakemake again"


def check(plan: Plan, case: CaseEvidence, rows: list[dict]) -> Outcome:
    parts = Parts(wrong=findings(case, "freshness"), gaps=list(missing_records(case)), next_step=NEXT)
    count = 0
    for name, recorded in recorded_hashes(case):
        count += 1
        found = case.hashes.get(name)
        if found is None:
            parts.wrong.append(f"{name} is missing; its pass recorded it")
        elif found != recorded:
            parts.wrong.append(
                f"{name} was changed after its pass ({recorded[:12]} recorded, {found[:12]} found)"
            )
    if not count and not parts.wrong:
        parts.gaps.append("no pass recorded a file")
    return parts.outcome(f"{count} files", "SHA-256 as recorded")


def recorded_hashes(case: CaseEvidence) -> Iterator[tuple[str, str]]:
    """(file within the capture, SHA-256) as each pass and the export recorded them."""
    for name, record in case.records.items():
        folder = "" if name == "timing" else name + "/"
        for file, digest in record.get("files", {}).items():
            yield folder + file, digest
    if case.export:
        yield "nsys/report.sqlite", case.export["sqlite"]["sha256"]
        for file, report in case.export["reports"].items():
            if report.get("sha256"):
                yield f"nsys/{file}", report["sha256"]
