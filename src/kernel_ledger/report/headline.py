"""The headline table of a case, and one sentence on why its chain and its whole block gain differently."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from .numbers import MISSING, code, duration, fixed, quotient, ratio, share, table, unit_for

Rows = Mapping[str, dict]
Cell = tuple[str, float | None]


@dataclass(frozen=True)
class HeadlineTable:
    """``columns``: title -> one (text, value or None) a variant; ``marks``: variant -> status of rows that do not balance.

    ``notes``: what the columns are, and why ratios differ, for the form that ``headline_table`` was given.
    """

    marks: dict[str, str]
    columns: dict[str, list[Cell]]
    notes: list[str]

    @property
    def lines(self) -> list[tuple[str, list[Cell]]]:
        return [(v, [cells[i] for cells in self.columns.values()]) for i, v in enumerate(self.marks)]


def headline_table(
    rows: list[dict], device: str, references: Collection[str] = (), name: Callable[[str], str] = str
) -> HeadlineTable | None:
    """The headline table of one case's rows (of rank 0); None where no variant has a row.

    ``references``: variants that are yardsticks by the plan, no spellings of the block; ``name``: how notes
    write a variant.
    """
    blocks = {r["variant"]: r for r in rows if r["level"] == "block"}
    chains = {r["variant"]: r for r in rows if r["level"] == "chain"}
    if not blocks:
        return None
    first = next(iter(blocks))
    unit = unit_for(
        row[f"{book}_median_ns"]
        for row in (*blocks.values(), *chains.values())
        for book in ("event", "torch", "nsys")
    )
    columns = block_columns(blocks, first, device, {*references, *yardsticks(blocks, chains, first)}, unit)
    columns |= chain_columns(blocks, chains, first, unit) if chains else gpu_columns(blocks, unit)
    shown = {title: cells for title, cells in columns.items() if {text for text, _ in cells} != {MISSING}}
    told = [legend(name(first), device, shown), why_they_differ(blocks, chains, first, name)]
    marks = {variant: mark(blocks[variant], chains.get(variant)) for variant in blocks}
    return HeadlineTable(marks, shown, [note for note in told if note])


def case_lines(rows: list[dict], device: str, references: Collection[str] = ()) -> Iterator[str]:
    """The headline table of one case and what follows from it, in Markdown."""
    found = headline_table(rows, device, references, lambda variant: code(variant, cell=False))
    if found is None:
        yield "No variant of this case has a row."
        return
    if any(r["cache_resident"] for r in rows):
        yield "**Cache-resident: the working set fits the GPU's L2, so this is no memory benchmark.**"
        yield ""
    lines = [
        [code(v) + (f" {found.marks[v]}" if found.marks[v] else ""), *(told for told, _ in cells)]
        for v, cells in found.lines
    ]
    yield from table(["variant", *found.columns], lines)
    for note in found.notes:
        yield from ("", note)


def mark(block: dict, chain: dict | None) -> str:
    """A mark where a variant's rows did not balance."""
    odd = [r["status"] for r in (block, chain or block) if r["status"] not in ("verified", "not_applicable")]
    return f"✗ {odd[0]}".replace("_", " ") if odd else ""


def yardsticks(blocks: Rows, chains: Rows, first: str) -> set[str]:
    """Variants that are nothing but a chain (a copy, an add) where the first is more: no spelling of the block."""
    bare = {
        v
        for v, chain in chains.items()
        if v in blocks and chain["nsys_median_ns"] == blocks[v]["nsys_median_ns"]
    }
    return set() if first in bare else bare


def block_columns(
    blocks: Rows, first: str, device: str, bare: set[str], unit: tuple[str, float]
) -> dict[str, list[Cell]]:
    timer = "host clock" if device == "cpu" else "CUDA events"
    times = [block["event_median_ns"] for block in blocks.values()]
    ratios = [None if v in bare else quotient(times[0], time) for v, time in zip(blocks, times, strict=True)]
    return {
        f"block ({timer}), {unit[0]}": cells(times, fixed(times, unit[1])),
        "block ratio": cells(ratios, map(ratio, ratios)),
    }


def both_books(title: str, rows: list[dict], unit: tuple[str, float]) -> dict[str, list[Cell]]:
    """The medians of both books and by how much they differ."""
    torch, nsys, odd = (
        [r.get(n) for r in rows] for n in ("torch_median_ns", "nsys_median_ns", "difference_pct")
    )
    return {
        f"{title} (torch), {unit[0]}": cells(torch, fixed(torch, unit[1])),
        f"{title} (nsys), {unit[0]}": cells(nsys, fixed(nsys, unit[1])),
        "difference, %": cells(odd, [MISSING if value is None else f"{value:+.2f}" for value in odd]),
    }


def gpu_columns(blocks: Rows, unit: tuple[str, float]) -> dict[str, list[Cell]]:
    """GPU time of a whole call, for workloads without a memory-bound chain."""
    return both_books("GPU time", list(blocks.values()), unit)


def chain_columns(blocks: Rows, chains: Rows, first: str, unit: tuple[str, float]) -> dict[str, list[Cell]]:
    rows = [chains.get(variant, {}) for variant in blocks]
    base = chains.get(first, {})
    times = [quotient(base.get("nsys_median_ns"), row.get("nsys_median_ns")) for row in rows]
    moved = [quotient(base.get("model_bytes"), row.get("model_bytes")) for row in rows]
    rates = [row.get("achieved_bytes_per_s") for row in rows]
    parts = [row.get("fraction_of_copy") for row in rows]
    return both_books("chain", rows, unit) | {
        "chain ratio": cells(times, map(ratio, times)),
        "byte ratio": cells(moved, map(ratio, moved)),
        "bandwidth, TB/s": cells(rates, fixed(rates, 1e12, 2)),
        "of copy, %": cells(parts, fixed(parts, 0.01)),
    }


def cells(values: Iterable[float | None], texts: Iterable[str]) -> list[Cell]:
    return list(zip(texts, values, strict=True))


def legend(first: str, device: str, shown: Mapping[str, list[Cell]]) -> str:
    """What the columns are, as far as they are there."""
    timer = "on the host's clock" if device == "cpu" else "of CUDA events"
    told = [f"Block: a whole call, median {timer} in an unprofiled process."]
    if any(title.startswith("chain (") for title in shown):
        told.append("Chain: the memory-bound kernels of a call, median in each book.")
    if any(title.startswith("GPU time (") for title in shown):
        told.append("GPU time: the kernels and copies of a call, median in each book.")
    if "difference, %" in shown:
        told.append("Difference: (torch − nsys) ÷ nsys.")
    return " ".join([*told, f"Ratios: {first} ÷ variant."])


def why_they_differ(blocks: Rows, chains: Rows, first: str, name: Callable[[str], str]) -> str | None:
    """One sentence on why the chain's ratio and the block's differ, with the numbers in it; of verified rows."""
    sound = {v: (blocks[v], chains[v]) for v in blocks if v in chains
             and {blocks[v]["status"], chains[v]["status"]} == {"verified"}
             and blocks[v]["nsys_median_ns"] and chains[v]["nsys_median_ns"]}  # fmt: skip
    best = min(
        (
            v
            for v, (block, chain) in sound.items()
            if v != first and block["nsys_median_ns"] > chain["nsys_median_ns"]
        ),
        key=lambda v: sound[v][1]["nsys_median_ns"],
        default=None,
    )
    if first not in sound or best is None:
        return None
    (block, chain), (best_block, best_chain) = sound[first], sound[best]
    part = chain["nsys_median_ns"] / block["nsys_median_ns"]
    if part >= 1:
        return None
    whole = quotient(block["event_median_ns"], best_block["event_median_ns"])
    return (
        f"With {name(best)} the chain is {ratio(chain['nsys_median_ns'] / best_chain['nsys_median_ns'])} as"
        f" fast and the whole block {ratio(whole)}, because the chain is only {share(part)} of"
        f" {name(first)}'s GPU time ({duration(chain['nsys_median_ns'])} of"
        f" {duration(block['nsys_median_ns'])}) and fusing does not touch the rest: with a chain that took no time at"
        f" all, the block's GPU work would be {ratio(1 / (1 - part))} as fast."
    )
