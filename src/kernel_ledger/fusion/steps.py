"""A variant's call as steps: kernels grouped by the operator that launched them, with what each reads and writes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

from ..errors import EvidenceError
from ..files import read_json
from ..plan_file import PlannedCase
from ..trace_events import Launched, TraceEvents, by_call, read_events
from .align import align
from .by_shape import ASSUMED, count
from .classify import kind
from .step import Step, Tensor

FLOW = "dataflow.json"


@dataclass(frozen=True)
class VariantSteps:
    """``source``: "dataflow" or "shapes".  ``outlive``: buffers that the call leaves behind, None where that is not known.
    ``reason``: why there are no steps, or why the data flow is not known.  ``device``: properties of the GPU."""

    steps: tuple[Step, ...]
    source: str
    outlive: frozenset[Hashable] | None
    reason: str | None
    device: Mapping[str, Any]

    @property
    def gpu_ns(self) -> float:
        """GPU time of one call."""
        return sum(step.ns for step in self.steps)

    def of_library(self) -> float:
        return sum(step.ns for step in self.steps if step.kind == "library")


def variant_steps(case: PlannedCase, variant: str, folder: Path) -> VariantSteps:
    """Read a variant's trace and data flow in ``captures/<workload>/<case>``.  Raises EvidenceError without a trace."""
    events = read_events(folder / "torch" / variant / "trace.json.gz")
    ranges = events.calls(case.range_name(variant))
    calls = [c for c in by_call(events.launched(("cpu_op",)), ranges) if c]
    if not calls:
        return VariantSteps((), "shapes", None, "no GPU operation lies in its range", events.device)
    if any([what(op) for op in call] != [what(op) for op in calls[0]] for call in calls):
        return VariantSteps((), "shapes", None, "its calls launched different kernels", events.device)
    flow, reason = recorded_flow(folder / FLOW, variant)
    owners: list[int | None] = []
    if flow is not None:
        first = ranges[0]
        inside = [e for e in events.operators if first.start <= e.start <= first.end]
        owners, reason = align(flow["operators"], inside, calls[0])
    if flow is not None and reason is None:
        steps = flow_steps(case, flow["operators"], owners, calls)
        return VariantSteps(steps, "dataflow", frozenset(flow["outlive"]), None, events.device)
    return VariantSteps(shape_steps(case, events, calls), "shapes", None, reason, events.device)


def what(op: Launched) -> tuple[str, str]:
    return op.name, op.around[-1].name if op.around else ""


def recorded_flow(path: Path, variant: str) -> tuple[dict[str, Any] | None, str | None]:
    """The recorded flow of a variant, or why there is none."""
    if not path.is_file():
        return None, "the capture has no dataflow.json"
    try:
        flow = read_json(path, format=1)["variants"].get(variant)
    except EvidenceError as error:
        return None, f"dataflow.json: {error.what}"
    if flow is None or flow["reason"]:
        return None, f"the data flow was not recorded: {flow['reason'] if flow else 'not this variant'}"
    return flow, None


def flow_steps(
    case: PlannedCase,
    flow: Sequence[Mapping[str, Any]],
    owners: Sequence[int | None],
    calls: Sequence[Sequence[Launched]],
) -> tuple[Step, ...]:
    """Steps with what the recorded operators read and write."""
    steps = []
    for owner, grouped in groupby(range(len(owners)), key=lambda place: owners[place]):
        places = list(grouped)
        if owner is None:
            steps.append(step(case, "", calls, places, "launched outside every operator", False, (), ()))
            continue
        entry = flow[owner]
        reads, writes = (tuple(map(flow_tensor, entry[side])) for side in ("reads", "writes"))
        steps.append(
            step(case, entry["operator"], calls, places, (reads, writes), entry["pointwise"],
                 [t["shape"] for t in entry["reads"]], [t["dtype"] for t in entry["reads"]])
        )  # fmt: skip
    return tuple(steps)


def flow_tensor(entry: Mapping[str, Any]) -> Tensor:
    key = (entry["buffer"], entry["offset"], tuple(entry["shape"]), tuple(entry["strides"]), entry["dtype"])
    return Tensor(entry["buffer"], key, entry["elements"], entry["bytes"])


def shape_steps(
    case: PlannedCase, events: TraceEvents, calls: Sequence[Sequence[Launched]]
) -> tuple[Step, ...]:
    """Steps from the trace alone; the innermost operator around a launch is its owner."""
    owners = [op.around[-1] if op.around else None for op in calls[0]]
    steps: list[Step] = []
    previous: Tensor | None = None
    by_owner = groupby(range(len(owners)), key=lambda place: id(owners[place]) if owners[place] else -place)
    for number, (_, grouped) in enumerate(by_owner):
        places = list(grouped)
        owner = owners[places[0]]
        counted = count(owner, number, previous)
        args = owner.args if owner else {}
        known = not isinstance(counted, str)
        steps.append(
            step(case, owner.name if owner else "", calls, places, counted, False,
                 args.get("Input Dims") or (), args.get("Input type") or ())
        )  # fmt: skip
        previous = counted[1][0] if known else None
    return tuple(steps)


def step(
    case: PlannedCase,
    operator: str,
    calls: Sequence[Sequence[Launched]],
    places: Sequence[int],
    counted: tuple[tuple[Tensor, ...], tuple[Tensor, ...]] | str,
    pointwise: bool,
    shapes: Sequence[Any],
    types: Sequence[str],
) -> Step:
    launched = tuple(calls[0][place] for place in places)
    kernels = [op.name for op in launched if op.event.category == "kernel"]
    replayed = any(op.call and "GraphLaunch" in op.call.name for op in launched)
    if replayed:
        counted = "replayed by a CUDA graph: no operator launched it"
    sort = kind(operator, kernels, len(kernels) < len(launched), pointwise, case.not_chain)
    reads, writes = (None, None) if isinstance(counted, str) else counted
    return Step(
        operator=operator,
        kind="unknown" if replayed and sort == "own" else sort,
        ns=median(sum(call[place].duration for place in places) for call in calls),
        launched=launched,
        reads=reads,
        writes=writes,
        reason=counted if isinstance(counted, str) else None,
        shapes=tuple(map(tuple, shapes)),
        types=tuple(types),
    )


__all__ = ["ASSUMED", "FLOW", "VariantSteps", "variant_steps"]
