"""What is wrong between the ranks of a case, which no rank shows alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..capture import CaseEvidence
from ..evidence import Book
from .communication import communicates
from .split import strangers


def between_ranks(case: CaseEvidence) -> dict[str, list[str]]:
    """Check -> faults, of all repeats of a case whose ranks are its ``members``."""
    found: dict[str, list[str]] = {}
    for number, _ in enumerate(case.repeats):
        whole = case.repeats[number]
        ranks = [part.repeats[number] for part in case.members]
        told = f"repeat {number + 1}: " if case.further else ""
        for check, text in faults(whole, ranks):
            found.setdefault(check, []).append(told + text)
    return found


def faults(whole: CaseEvidence, ranks: list[CaseEvidence]) -> Iterator[tuple[str, str]]:
    """(check, what is wrong) in one repeat."""
    yield from (("conservation", text) for text in wrong_processes(whole, ranks))
    yield from (("conservation", text) for text in different_collectives(ranks))
    yield from (("numerics", text) for text in different_outputs(whole))
    yield from (("sameness", text) for text in shared_gpus(ranks))
    yield from (("structure", text) for text in wrong_traces(ranks))


def wrong_processes(whole: CaseEvidence, ranks: list[CaseEvidence]) -> Iterator[str]:
    """Ranks that did not run, and processes of the nsys report that are no rank."""
    for name, record in whole.records.items():
        if "absent" not in record and len(record.get("ranks", ())) != len(ranks):
            yield f"{name}: {len(record.get('ranks', ()))} ranks told of themselves, {len(ranks)} were planned"
    if whole.nsys is not None and (pids := strangers(whole.nsys, whole.records.get("nsys", {}))):
        yield f"nsys recorded processes that are no rank: {', '.join(map(str, pids))}"


def different_collectives(ranks: list[CaseEvidence]) -> Iterator[str]:
    """Communication kernels of which one rank has more than another: every rank takes part in each."""
    for variant in ranks[0].plan.variants:
        own = ranks[0].plan.range_name(variant)
        for book in ("torch", "nsys"):
            counted = [collectives(book_of(part, book, variant), own) for part in ranks]
            if None in counted:  # a book that cannot be read; its own check says so
                continue
            for kernel in sorted(set().union(*counted)):
                if len({counts[kernel] for counts in counted}) > 1:
                    told = ", ".join(f"rank {rank} {counts[kernel]}" for rank, counts in enumerate(counted))
                    yield f"{variant}: {book} has different numbers of {kernel[:80]}: {told}"


def book_of(part: CaseEvidence, book: str, variant: str) -> Book | None:
    return part.torch.get(variant) if book == "torch" else part.nsys


def collectives(book: Book | None, range_name: str) -> Counter | None:
    if book is None:
        return None
    return Counter(filter(communicates, book.ops.where("range", range_name).decoded("name")))


def different_outputs(whole: CaseEvidence) -> Iterator[str]:
    """Variants whose output is not the same on all ranks: after an all-reduce it must be, byte for byte."""
    records = {"numerics": (whole.numerics or {}).get("run", {}), **whole.records}
    for name, record in records.items():
        seen: dict[str, dict[str, int]] = {}
        for told in record.get("ranks", ()):
            for variant, digest in told["output_sha256"].items():
                seen.setdefault(variant, {}).setdefault(digest, told["rank"])
        for variant, digests in seen.items():
            if len(digests) > 1:
                some = ", ".join(f"rank {rank} {digest[:12]}" for digest, rank in digests.items())
                yield f"{name}: {variant} gave different bytes on different ranks: {some}"


def shared_gpus(ranks: list[CaseEvidence]) -> Iterator[str]:
    """GPUs on which more than one rank ran."""
    for name in ranks[0].records:
        uuids = [(part.records[name].get("gpu") or {}).get("uuid") for part in ranks]
        for uuid, count in Counter(filter(None, uuids)).items():
            if count > 1:
                yield f"{name}: {count} ranks ran on one GPU, {uuid}"


def wrong_traces(ranks: list[CaseEvidence]) -> Iterator[str]:
    """Traces that say of themselves that they are of another rank."""
    for part in ranks:
        for variant, book in part.torch.items():
            if book.rank not in (None, part.rank):
                yield f"torch/{variant}: the trace of rank {part.rank} says that it is of rank {book.rank}"
