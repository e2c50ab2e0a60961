"""CUDA graphs, as a part of conservation: each replay of a graph runs every node of it, once, in both books."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from ..columnar.segments import split
from ..evidence import Book, Operations

Replay = tuple[int | None, int]
"""(iteration of the range, correlation of the launching call)."""


def replays(book: Book, name: str) -> Mapping[Replay, Operations]:
    """The operations of each replay in a range."""
    ops = book.ops.where("range", name).where("graph", True)
    found: dict[Replay, Operations] = {}
    for mine in split([ops.column("iteration"), ops.column("correlation")]):
        own = ops.take(mine)
        found[own[0].iteration, own[0].correlation] = own
    return found


def graph_faults(book: Book, name: str) -> Iterator[str]:
    """Nodes that ran twice in a replay, and calls whose replays ran other operations than the first call's."""
    calls: dict[int | None, Counter] = {}
    for (iteration, _), ops in sorted(replays(book, name).items(), key=str):
        nodes = Counter(node for node in ops.decoded("graph_node") if node is not None)
        if twice := [node for node, count in nodes.items() if count > 1]:
            yield f"call {iteration}: {len(twice)} nodes of a CUDA graph ran more than once in a replay"
        calls.setdefault(iteration, Counter()).update(ops.decoded("name"))
    if not calls:
        return
    first = min(calls, key=str)
    for iteration in sorted(calls, key=str):
        if calls[iteration] != calls[first]:
            counts = f"{calls[iteration].total()} operations, not the {calls[first].total()} of call {first}"
            yield f"call {iteration}: its CUDA graph ran {counts}, or others of the same number"


def nodes_per_call(book: Book, name: str) -> float | None:
    """GPU operations of graph replays in one call of a range, or None where it replays none."""
    found = replays(book, name)
    calls = {iteration for iteration, _ in found}
    return sum(map(len, found.values())) / len(calls) if calls else None


def differing_graphs(torch: Book, nsys: Book, name: str) -> Iterator[str]:
    """Where the two books have replays of a range with another number of nodes."""
    counts = nodes_per_call(torch, name), nodes_per_call(nsys, name)
    if counts[0] != counts[1]:
        told = ["none" if count is None else f"{count:g}" for count in counts]
        yield f"GPU operations of CUDA graphs in a call: torch {told[0]}, nsys {told[1]}"
