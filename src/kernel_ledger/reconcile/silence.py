"""Books that can be read and say nothing: what they did not record is unknown, not zero."""

from __future__ import annotations

from ..capture import CaseEvidence

NO_TORCH = (
    "the torch trace has no GPU operation at all: CUPTI gave torch none"
    " (another subscriber, too few privileges, or a torch without CUPTI)"
)
NO_NSYS = "nsys recorded no GPU operation at all: it may be older than the driver, or lack CUDA tracing"

NO_NODES = "nsys recorded CUDA graphs as one block each: their kernels cannot be counted"


def silent_books(case: CaseEvidence, variant: str) -> dict[str, str]:
    """Book -> why it cannot speak of this variant's launches although it can be read.

    A book without any GPU operation is only silent where the program or the other book has one.
    """
    if case.device == "cpu" or not variant:
        return {}
    name, torch, nsys = case.plan.range_name(variant), case.torch.get(variant), case.nsys
    reasons = {}
    if torch is not None:
        expected = case.plan.launches.get(variant) or (nsys and name in nsys.ops.seen("range"))
        if not torch.ops and expected:
            reasons["torch"] = NO_TORCH
        elif torch.ops and not torch.ranges:
            reasons["torch"] = (
                f"the torch trace lacks the announced range {name}: its launches cannot be told apart"
            )
    if nsys is not None:
        if not nsys.ops and any(book.ops for book in case.torch.values()):
            reasons["nsys"] = NO_NSYS
        elif nsys.ops and name not in nsys.ranges.seen("name"):
            reasons["nsys"] = f"nsys lacks the announced range {name}: its launches cannot be told apart"
        elif nsys.graphs and name not in nsys.ops.seen("range"):
            reasons["nsys"] = NO_NODES
    return reasons
