"""freshness: the SHA-256 of every file is the one that its pass (or the export) recorded."""

from __future__ import annotations

from collections.abc import Iterator

from ..capture import CaseEvidence
from ..plan_file import Plan
from .outcome import AGAIN, Outcome, Parts, findings, missing_records

LEFT = {  # of each pass, what cannot be done without
    "timing": ("numerics.json", "timing.json"),
    "torch": ("trace.json.gz", "key_averages.txt", "key_averages.csv"),
    "nsys": ("report.nsys-rep",),
}
NEXT = f"restore the file as its pass wrote it, or {AGAIN}"


def check(plan: Plan, case: CaseEvidence, rows: list[dict]) -> Outcome:
    parts = Parts(wrong=findings(case, "freshness"), gaps=list(missing_records(case)), next_step=NEXT)
    parts.wrong += unvouched(case)
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


def unvouched(case: CaseEvidence) -> Iterator[str]:
    """Records without the hash of a file that their pass must leave: any file could lie there."""
    for name, record in case.records.items():
        recorded = record.get("files") or {}
        left = [file for file in LEFT[name.split("/")[0]] if case.repeat == 1 or file != "numerics.json"]
        missing = [file for file in left if not recorded.get(file)]
        if "absent" in record or not missing:
            continue
        yield f"pass {name}: its record vouches for no file" + (
            f" named {', '.join(missing)}" if recorded else ""
        )
    if case.export:
        for file, report in case.export["reports"].items():
            if report.get("status") == "ok" and not report.get("sha256"):
                yield f"nsys/export.json vouches for no {file}"


def recorded_hashes(case: CaseEvidence) -> Iterator[tuple[str, str]]:
    """(file within the capture, SHA-256) as each pass and the export recorded them."""
    for name, record in case.records.items():
        folder = "" if name == "timing" else name + "/"
        for file, digest in (record.get("files") or {}).items():
            yield folder + file, digest
    if case.export:
        yield "nsys/report.sqlite", case.export["sqlite"]["sha256"]
        for file, report in case.export["reports"].items():
            if report.get("sha256"):
                yield f"nsys/{file}", report["sha256"]
