"""The samples that each row of a case rests on: one number for each call, by each witness.

Of a block, the CUDA events of the unprofiled process; of everything else, the GPU time that each book has
for a call.  A kernel launched several times in a call counts with its sum, so that one sample is one call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median

from ..capture import CaseEvidence
from ..columnar import joined as join
from ..columnar.segments import covered
from ..evidence import Operations
from ..reconcile.calls import chain_groups, per_call
from ..reconcile.groups import OUTSIDE, Group, group

Samples = Mapping[str, Sequence[float]]
"""Witness ("events", "torch", "nsys") -> durations in ns."""
Key = tuple[str, str, str]
"""variant, level, name: of a row within its case."""
ENOUGH_PROCESSES = 5  # of them, an interval can be made


def case_samples(case: CaseEvidence) -> dict[Key, Samples]:
    """The samples of every row of a case.

    Of measure.repeats, each process gives one sample, its median, where there are enough of them: only they
    show how processes differ.  Of fewer, all calls count.
    """
    parts = [samples_of_processes(repeat) for repeat in case.repeats]
    keys = dict.fromkeys(key for part in parts for key in part)
    return {key: joined([part[key] for part in parts if key in part]) for key in keys}


def joined(parts: Sequence[Samples]) -> Samples:
    """One set of samples from those of several processes."""
    found = {}
    for witness in dict.fromkeys(w for part in parts for w in part):
        processes = [part[witness] for part in parts if part.get(witness)]
        enough = len(processes) >= ENOUGH_PROCESSES
        found[witness] = [median(p) for p in processes] if enough else [ns for p in processes for ns in p]
    return found


def samples_of_processes(case: CaseEvidence) -> dict[Key, Samples]:
    """The samples of one repeat: of its timing, torch and nsys processes."""
    groups = group(case)
    found: dict[Key, Samples] = {}
    for variant in case.plan.variants:
        own = [g for g in groups if g.variant == variant]
        found[variant, "block", variant] = events(case, variant)
        found[variant, "range", case.plan.range_name(variant)] = both(own, busy)
        if variant in case.plan.traffic:
            found[variant, "chain", variant] = both(chain_groups(case, own)[0], times)
        for operator, mine in operators(own).items():
            found[variant, "operator", operator] = both(mine, times)
    return found | {(g.variant, g.level, g.title): both([g], times) for g in groups if g.variant != OUTSIDE}


def operators(groups: Sequence[Group]) -> dict[str, list[Group]]:
    """Operator -> its kernels, of those operators whose kernels no other operator launches."""
    found = {name: [g for g in groups if name in g.operators] for g in groups for name in g.operators}
    return {name: own for name, own in found.items() if all(g.operators == (name,) for g in own)}


def events(case: CaseEvidence, variant: str) -> Samples:
    timed = (case.timing or {}).get("variants", {}).get(variant, {})
    return {"events": timed.get("samples_ns", [])}


def both(groups: Iterable[Group], of_calls: Callable[[Sequence[Operations]], Sequence[int]]) -> Samples:
    groups = list(groups)
    return {"torch": of_calls([g.torch for g in groups]), "nsys": of_calls([g.nsys for g in groups])}


def times(parts: Sequence[Operations]) -> Sequence[int]:
    """Summed durations of each call."""
    stats = per_call(parts)
    return tuple(stats.durations.tolist()) if stats else ()


def busy(parts: Sequence[Operations]) -> Sequence[int]:
    """Time in which at least one operation ran, of each call."""
    columns = ([ops.column(name) for ops in parts] for name in ("start", "end", "iteration"))
    return covered(*map(join, columns)).tolist()
