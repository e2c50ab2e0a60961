"""Groups the GPU operations of both books by variant and by what they are: one group is one row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from ..capture import CaseEvidence
from ..columnar import column
from ..columnar.segments import split
from ..evidence import Book, Operations

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
    torch: Operations
    nsys: Operations
    shared: bool = False

    @property
    def title(self) -> str:
        """The row's name; with the launch geometry where one symbol was launched with several."""
        if self.whole:
            return self.name
        return f"{self.name} <<<{dimensions(self.geometry[0])}, {dimensions(self.geometry[1])}>>>"

    @cached_property
    def operators(self) -> tuple[str, ...]:
        return tuple(sorted(self.torch.seen("operator") - {""}))


def dimensions(value: tuple[int, int, int] | None) -> str:
    return "" if value is None else "x".join(map(str, value))


@dataclass
class Kind:
    """The operations of one book that are of one group.  ``key``: variant, level, name and geometry."""

    key: tuple[str, str, str, Geometry]
    ops: Operations


def kinds(book: Book, variant_of: Mapping[str, str]) -> Iterator[Kind]:
    """The operations of a book by what they are, in the order of first ones.

    ``variant_of``: range -> variant; outside of these it is "".
    """
    ops = book.ops
    variants, codes = list(dict.fromkeys(variant_of.values())), ops.column("range")
    number = column([variants.index(variant_of[r]) if r in variant_of else -1 for r in ops.values("range")])
    variant = number[codes] if len(ops) else column()
    fields = [ops.column(name) for name in ("level", "name", "grid", "block")]
    for mine in split([variant, *fields]):
        one, of = ops[int(mine[0])], variant[mine[0]]
        geometry = (None, None) if one.level == "memory" else (one.grid, one.block)
        yield Kind((variants[of] if of >= 0 else OUTSIDE, one.level, one.name, geometry), ops.take(mine))


def group(case: CaseEvidence) -> list[Group]:
    """Every GPU operation of both books in exactly one group."""
    variant_of = {case.plan.range_name(v): v for v in case.plan.variants}
    found = [
        ("torch", kind)
        for variant, book in case.torch.items()
        for kind in kinds(book, {case.plan.range_name(variant): variant})
    ]
    found += [("nsys", kind) for kind in kinds(case.nsys, variant_of)] if case.nsys else []
    geometries: dict[tuple, set[Geometry]] = {}
    parts: dict[tuple, dict[str, list[Operations]]] = {}
    for book, kind in found:
        geometries.setdefault(kind.key[:3], set()).add(kind.key[3])
        parts.setdefault(kind.key, {"torch": [], "nsys": []})[book].append(kind.ops)
    return [
        Group(
            *key, len(geometries[key[:3]]) == 1, *(Operations.joined(own[book]) for book in ("torch", "nsys"))
        )
        for key, own in parts.items()
    ]
