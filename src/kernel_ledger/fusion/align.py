"""Which recorded operator (dataflow.json) launched which kernel (trace): by order, name and input shapes, or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..trace_events import Launched, TraceEvent


def align(
    flow: Sequence[Mapping[str, Any]], operators: Sequence[TraceEvent], launched: Sequence[Launched]
) -> tuple[list[int | None], str | None]:
    """For each operation of a call the index of its recorded operator; or a reason why they do not match.

    None: launched outside every operator, as a Triton kernel is from Python.  ``operators``: the call's by start.  A
    recorded operator is the next event of its name and shapes; what is nested in that event is the operator's own
    business, and what lies between two is a composite around them.  One that writes nothing (a view; a detach of
    autograd, which the profiler does not see) may be missing.
    """
    matched: dict[int, int] = {}
    at, ends = 0, {}
    for number, entry in enumerate(flow):
        place = next_place(operators, at, entry, ends)
        if not entry["writes"]:
            due = next((later for later in flow[number + 1 :] if later["writes"]), None)
            limit = next_place(operators, at, due, ends) if due else None
            if place is None or (limit is not None and place > limit):
                continue
        if place is None:
            return [], (
                f"operator {number + 1} of the recorded flow, {entry['operator']}, is not in the trace: another program ran"
                " (torch.compile and graph replays cannot be recorded)"
            )
        ends[operators[place].thread] = operators[place].end
        matched[id(operators[place])] = number
        at = place + 1
    owners = [next((matched[id(e)] for e in op.around if id(e) in matched), None) for op in launched]
    outside = sum(owner is None and bool(op.around) for owner, op in zip(owners, launched, strict=True))
    if outside:
        return (
            [],
            f"{outside} of {len(owners)} GPU operations were launched by no operator of the recorded flow",
        )
    return owners, None


def next_place(
    operators: Sequence[TraceEvent], at: int, entry: Mapping[str, Any], ends: Mapping[Any, int]
) -> int | None:
    return next(
        (place for place in range(at, len(operators)) if is_next(operators[place], entry, ends)), None
    )


def is_next(event: TraceEvent, entry: Mapping[str, Any], ends: Mapping[Any, int]) -> bool:
    names = (
        entry["operator"],
        f"{entry['operator']}_",
    )  # autograd adds in place where nobody looks, and moves as much
    if event.name not in names or event.start < ends.get(event.thread, event.start):
        return False
    dims = event.args.get("Input Dims")
    return dims is None or list(shapes(dims)) == [s for s in entry["shapes"] if s]


def shapes(dims: Any) -> list[list[int]]:
    """The shapes in Kineto's "Input Dims", those of lists included; of scalars there is none."""
    found = []
    for part in dims:
        if isinstance(part, list) and part:
            found += shapes(part) if isinstance(part[0], list) else [part]
    return found
