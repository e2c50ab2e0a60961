"""Groups the GPU operations of both books by variant and by what they are: one group is one row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..capture import CaseEvidence
from ..evidence import GpuOp

OUTSIDE = ""
Geometry = tuple[tuple[int, int, int] | None, tuple[int, int, int] | None]


@dataclass
class Group:
    """All launches of one kernel (or one kind of copy) by one variant, in both books.

    ``whole``: the group holds every launch of its symbol in this variant, not one geometry of several.
    ``shared``: it waits for other ranks, or runs beside what does (kernel_ledger.ranks).
    """

    variant: str
    level: str
    name: str
    geometry: Geometry
    whole: bool
    torch: list[GpuOp] = field(default_factory=list)
    nsys: list[GpuOp] = field(default_factory=list)
    shared: bool = False

    @property
    def title(self) -> str:
        """The row's name; with the launch geometry where one symbol was launched with several."""
        if self.whole:
            return self.name
        return f"{self.name} <<<{dimensions(self.geometry[0])}, {dimensions(self.geometry[1])}>>>"

    @property
    def operators(self) -> tuple[str, ...]:
        return tuple(sorted({op.operator for op in self.torch if op.operator}))


def dimensions(value: tuple[int, int, int] | None) -> str:
    return "" if value is None else "x".join(map(str, value))


def entries(case: CaseEvidence) -> Iterable[tuple[str, str, GpuOp]]:
    """(book, variant, operation) for every GPU operation of the case; variant is "" outside its range."""
    variant_of = {case.plan.range_name(v): v for v in case.plan.variants}
    for variant, book in case.torch.items():
        own = case.plan.range_name(variant)
        for op in book.ops:
            yield "torch", variant if op.range == own else OUTSIDE, op
    for op in case.nsys.ops if case.nsys else ():
        yield "nsys", variant_of.get(op.range, OUTSIDE), op


def group(case: CaseEvidence) -> list[Group]:
    """Every GPU operation of both books in exactly one group."""
    found = list(entries(case))
    geometries: dict[tuple[str, str, str], set[Geometry]] = {}
    for _, variant, op in found:
        geometries.setdefault((variant, op.level, op.name), set()).add((op.grid, op.block))
    groups: dict[tuple, Group] = {}
    for book, variant, op in found:
        seen = geometries[variant, op.level, op.name]
        whole = len(seen) == 1 or op.level == "memory"
        geometry = (None, None) if op.level == "memory" else (op.grid, op.block)
        key = (variant, op.level, op.name, geometry)
        if key not in groups:
            groups[key] = Group(variant, op.level, op.name, geometry, whole)
        getattr(groups[key], book).append(op)
    return list(groups.values())
