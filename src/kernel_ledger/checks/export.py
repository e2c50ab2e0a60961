"""export: each CSV has its header, its rows and the tool's success line, and comes from this very report.

The last is shown by arithmetic: the CSV's counts, totals, minima, maxima and medians must equal those of
the records in report.sqlite, which was exported from the report whose SHA-256 the nsys pass recorded.
A secret in any file of the capture fails this check too: such an export must not leave the machine.
"""

from __future__ import annotations

from collections.abc import Mapping

from .. import leaks
from ..capture import CaseEvidence
from ..columnar import Column, joined
from ..columnar.segments import split
from ..evidence import GpuOp, Statistics, statistics
from ..nsys.stats import OURS
from ..plan_file import Plan
from .outcome import Outcome, Parts, findings, missing_records, shorten
from .printed import wrong_figures

KERNEL_REPORTS = ("nvtx_kern_sum.csv", "cuda_gpu_kern_sum.csv", "cuda_gpu_kern_sum_by_range.csv")
REPORTS = ("nvtx_sum.csv", "nvtx_gpu_proj_sum.csv", *KERNEL_REPORTS)
GPU_REPORTS = REPORTS[1:]
NEXT = "remove nsys/export.json and run snakemake again to export anew, with the nsys that recorded"


def check(plan: Plan, case: CaseEvidence, rows: list[dict]) -> Outcome:
    parts = Parts(findings(case, "export"), list(missing_records(case)), next_step=NEXT)
    parts.evidence += ["nsys/export.json", "nsys/export-log.txt", *(f"nsys/{name}" for name in REPORTS)]
    parts.wrong += leaked(case)
    if case.export is not None:
        parts.wrong += unsuccessful(case)
        parts.wrong += foreign(case)
        parts.wrong += shorten(differences(case))
    elif not parts.gaps and not parts.wrong:
        parts.gaps.append("nothing was exported")
    return parts.outcome(f"{len(case.kernel_stats)} kernel rows equal the report's records", "equal")


def leaked(case: CaseEvidence) -> list[str]:
    """Secrets: as passes and export found them, and by name again (a replay knows no withheld value)."""
    told = [("nsys/", case.export or {}), ("", (case.numerics or {}).get("run", {}))]
    told += [("" if name == "timing" else f"{name}/", record) for name, record in case.records.items()]
    found = {
        leaks.Leak(leak["variable"], prefix + leak["file"], leak["where"], leak["what"])
        for prefix, record in told
        for leak in record.get("leaks", ())
    }
    known = {(leak.variable, leak.file) for leak in found}
    named = leaks.search(case.folder, allowed=(case.export or {}).get("environment", ()))
    texts = leaks.sentences(found | {n for n in named if (n.variable, n.file) not in known})
    return [*shorten(texts), leaks.ADVICE] if texts else []


def unsuccessful(case: CaseEvidence) -> list[str]:
    """Reports that the tool did not write as it should."""
    wrong = []
    for name in REPORTS:
        report = case.export["reports"].get(name)
        empty_is_right = case.device == "cpu" and name in GPU_REPORTS
        if report is None:
            wrong.append(f"{name} was not exported")
        elif report["status"] == "failed" or (report["status"] == "empty" and not empty_is_right):
            wrong.append(f"{name} {report['status']}: {report['reason']}")
        elif report.get("computed_by") != OURS and not report.get("success_line") and not empty_is_right:
            wrong.append(f"{name}: nsys did not say that it wrote the file")
    return wrong


def foreign(case: CaseEvidence) -> list[str]:
    """Signs that the export belongs to another recording or another version."""
    wrong = []
    recorded = case.records.get("nsys", {}).get("files", {}).get("report.nsys-rep")
    if recorded != case.export["report_sha256"]:
        wrong.append("the export was made from another report than the one that the nsys pass recorded")
    recorder = case.records.get("nsys", {}).get("versions", {}).get("nsys")
    if recorder != case.export["nsys"]["version"]:
        wrong.append(f"recorded with nsys {recorder}, exported with {case.export['nsys']['version']}")
    return wrong


def differences(case: CaseEvidence) -> list[str]:
    """Where a CSV and the records of report.sqlite say different things."""
    if case.nsys is None:
        return []
    announced = set(map(case.plan.range_name, case.plan.variants))
    kernels = case.nsys.ops.where("level", "kernel")
    records: dict[tuple[str | None, str], list[Column]] = {}
    for mine in split([kernels.column("innermost"), kernels.column("symbol")]):
        own = kernels.take(mine)
        records.setdefault(printed_key(own[0], announced), []).append(own.duration)
    wrong = []
    printed = {without_domain(key, records): row for key, row in case.kernel_stats.items()}
    for key in sorted(set(records) | set(printed), key=str):
        said, found = printed.get(key), statistics(joined(records.get(key, [])))
        if said is None or found is None or summary(said) != summary(found):
            of = f"{key[0]}/{key[1][:80]}"
            wrong.append(
                f"cuda_gpu_kern_sum_by_range.csv says {describe(said)} for {of}, report.sqlite {describe(found)}"
            )
    return wrong + total_differences(case) + range_differences(case) + wrong_figures(case)


def printed_key(op: GpuOp, announced: set[str]) -> tuple[str | None, str]:
    """(range, symbol) under which the CSV has a kernel: nsys goes by the innermost range of the launching thread.

    So a backward kernel, which autograd's own thread launches, stands there outside every range.
    """
    if op.innermost is None or op.innermost in announced:
        return op.innermost, op.symbol
    return None, f"{op.innermost}/{op.symbol}"


def without_domain(
    key: tuple[str | None, str], records: Mapping[tuple[str | None, str], list[Column]]
) -> tuple[str | None, str]:
    """The key of a row, should nsys print the domain of a range that is not ours (NCCL has one of its own)."""
    bare = None, key[1].partition(":")[2]
    return bare if key[0] is None and key not in records and bare in records else key


def total_differences(case: CaseEvidence) -> list[str]:
    """Where the sums of the other kernel summaries are not those of the records."""
    announced = set(map(case.plan.range_name, case.plan.variants))
    kernels, wrong = case.nsys.ops.where("level", "kernel"), []
    for name, totals in case.totals.items():
        for key in sorted({*totals, *(announced if name == "nvtx_kern_sum.csv" else {None})}, key=str):
            durations = (kernels if key is None else kernels.where("thread_range", key)).duration
            said, found = totals.get(key, (0, 0)), (len(durations), int(durations.sum()))
            if said != found:
                of = f" for {key}" if key else ""
                text = f"{name} counts {said[0]} kernels of {said[1]} ns{of}, report.sqlite {found[0]} of {found[1]}"
                wrong.append(text)
    return wrong


def range_differences(case: CaseEvidence) -> list[str]:
    wrong = []
    for name in map(case.plan.range_name, case.plan.variants):
        found = case.nsys.ranges.count(name)
        said = case.ranges[name].instances if name in case.ranges else 0
        if said != found:
            wrong.append(f"nvtx_sum.csv has {said} instances of {name}, report.sqlite {found}")
    return wrong


def summary(stats: Statistics) -> tuple:
    return stats.count, stats.total, stats.median, stats.least, stats.most


def describe(stats: Statistics | None) -> str:
    return "nothing" if stats is None else f"{stats.count} x {stats.median} ns, {stats.total} ns in all"
