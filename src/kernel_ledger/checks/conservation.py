"""conservation: launches expected by the program = counted by torch = counted by nsys."""

from __future__ import annotations

from ..capture import CaseEvidence
from ..names import base_name
from ..plan_file import Plan
from ..reconcile.balance import compare_counts
from ..reconcile.operations import announced_kernels
from ..reconcile.rows import missing_books
from .diagnostics import SQLITE, recorded_ranges, serious_diagnostics
from .graphs import differing_graphs, graph_faults
from .outcome import Outcome, Parts, findings, missing_records, shorten

NEXT = "see the rows' reasons; measure the named pass again, and lower `iterations` where a buffer overflowed"


def check(plan: Plan, case: CaseEvidence, rows: list[dict]) -> Outcome:
    parts = Parts(findings(case, "conservation"), list(missing_records(case)), next_step=NEXT)
    for variant in case.plan.variants:
        parts.gaps += [f"{variant}: {text}" for text in missing_books(case, variant).values()]
    for name, book in books(case):
        parts.wrong += [f"{name}: {f.text}" for f in book.findings if f.check == "conservation"]
    parts.wrong += lost_ranges(case)
    parts.wrong += serious_diagnostics(case)
    parts.wrong += miscounted_graphs(case)
    parts.wrong += [
        text for variant in case.plan.variants for text in miscounted_by_name(case, variant, rows)
    ]
    wrong = [f"{row['level']} {row['name']}: {text}" for row in rows for text in miscounted(case, row)]
    parts.wrong += shorten(wrong)
    for name, book in books(case):
        if book.launches_without_kernel:
            parts.wrong.append(
                f"{name}: {book.launches_without_kernel} kernel launches left no kernel record"
            )
    counted = [r for r in rows if r["level"] in ("kernel", "memory")]
    counted = [r for r in counted if r["nsys_count"]]
    measured = f"{len(counted)} kinds of GPU operation, {sum(r['nsys_count'] or 0 for r in counted)} launches in nsys"
    parts.evidence += [f"torch/{v}/trace.json.gz" for v in case.plan.variants] + ["nsys/report.sqlite"]
    return parts.outcome(measured, "program = torch = nsys")


def miscounted_graphs(case: CaseEvidence) -> list[str]:
    """What is wrong with the replays of CUDA graphs, in one book or between the two."""
    wrong = []
    for variant, torch in case.torch.items():
        name = case.plan.range_name(variant)
        wrong += [f"torch/{variant}: {text}" for text in graph_faults(torch, name)]
        if case.nsys is not None:
            wrong += [f"nsys: {variant}: {text}" for text in graph_faults(case.nsys, name)]
            wrong += [f"{variant}: {text}" for text in differing_graphs(torch, case.nsys, name)]
    return shorten(wrong)


def lost_ranges(case: CaseEvidence) -> list[str]:
    """What to say where nsys has not one range of the domain, although the program announced them."""
    if case.nsys is None or case.nsys.ranges:
        return []
    others = shorten(recorded_ranges(case.folder / SQLITE))
    if others:
        wanted = ", ".join(map(case.plan.range_name, case.plan.variants))
        return [
            f"{SQLITE} is of another workload: its ranges are {', '.join(others)}, announced were {wanted}"
        ]
    return [
        "nsys recorded none of the announced ranges; nvtx 0.2.12 and later lose a domain's ranges under"
        " nsys 2023.4 and older: install nvtx 0.2.11 or a newer nsys"
    ]


def miscounted_by_name(case: CaseEvidence, variant: str, rows: list[dict]) -> list[str]:
    """Announced kernels of which the books hold more or fewer, in all kernels of that short name together.

    Two kernels with one short name (two template instances, two namespaces) have a row each, and neither
    row can tell how many of the announced launches are its own.
    """
    wrong = []
    for kernel, launches in announced_kernels(case, variant).items():
        named = [r for r in rows if r["level"] == "kernel" and r["variant"] == variant]
        named = [r for r in named if base_name(r["name"]) == kernel]
        if len(named) < 2:
            continue
        for book in ("torch_count", "nsys_count"):
            counts, wanted = [r[book] for r in named], launches * (named[0]["iterations"] or 0)
            if None not in counts and sum(counts) != wanted:
                text = f"{variant}: {wanted} launches of {kernel} were announced, {book.split('_')[0]} has"
                wrong.append(f"{text} {sum(counts)} in {len(named)} kernels of this short name")
    return wrong


def books(case: CaseEvidence) -> list[tuple[str, object]]:
    named = [(f"torch/{v}", book) for v, book in case.torch.items()]
    return [*named, ("nsys", case.nsys)] if case.nsys else named


def miscounted(case: CaseEvidence, row: dict) -> list[str]:
    """What is wrong with the counts of a row that both books can speak of."""
    if row["level"] == "operator" or row["torch_count"] is None or row["nsys_count"] is None:
        return []
    if not row["variant"]:
        return ["launched outside every announced range"]
    iterations = 0 if row["level"] == "range" else row["iterations"]
    return compare_counts(row["torch_count"], row["nsys_count"], row["expected_count"], iterations)
