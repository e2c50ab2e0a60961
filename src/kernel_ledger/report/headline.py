"""The headline table of a case, and one sentence on why its chain and its whole block gain differently."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from .numbers import MISSING, code, duration, fixed, quotient, ratio, share, table, unit_for

Rows = Mapping[str, dict]


def case_lines(rows: list[dict], device: str, references: Collection[str] = ()) -> Iterator[str]:
    """The headline table of one case and what follows from it.

    ``references``: variants that are yardsticks by the plan, no spellings of the block.
    """
    blocks = {r["variant"]: r for r in rows if r["level"] == "block"}
    chains = {r["variant"]: r for r in rows if r["level"] == "chain"}
    if not blocks:
        yield "No variant of this case has a row."
        return
    if any(r["cache_resident"] for r in rows):
        yield "**Cache-resident: the working set fits the GPU's L2, so this is no memory benchmark.**"
        yield ""
    first = next(iter(blocks))
    unit = unit_for(
        row[f"{book}_median_ns"]
        for row in (*blocks.values(), *chains.values())
        for book in ("event", "torch", "nsys")
    )
    columns = block_columns(blocks, first, device, {*references, *yardsticks(blocks, chains, first)}, unit)
    columns |= chain_columns(blocks, chains, first, unit) if chains else gpu_columns(blocks, unit)
    shown = {title: cells for title, cells in columns.items() if set(cells) != {MISSING}}
    names = [named(variant, blocks[variant], chains.get(variant)) for variant in blocks]
    lines = [list(line) for line in zip(names, *shown.values(), strict=True)]
    yield from table(["variant", *shown], lines)
    yield ""
    yield legend(first, device, shown)
    if sentence := why_they_differ(blocks, chains, first):
        yield ""
        yield sentence


def named(variant: str, block: dict, chain: dict | None) -> str:
    """A variant, with a mark where its rows did not balance."""
    odd = [r["status"] for r in (block, chain or block) if r["status"] not in ("verified", "not_applicable")]
    return code(variant) + (f" ✗ {odd[0]}".replace("_", " ") if odd else "")


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
) -> dict[str, list[str]]:
    timer = "host clock" if device == "cpu" else "CUDA events"
    times = [block["event_median_ns"] for block in blocks.values()]
    ratios = [ratio(quotient(blocks[first]["event_median_ns"], time)) for time in times]
    return {
        f"block ({timer}), {unit[0]}": fixed(times, unit[1]),
        "block ratio": [MISSING if v in bare else told for v, told in zip(blocks, ratios, strict=True)],
    }


def both_books(title: str, rows: list[dict], unit: tuple[str, float]) -> dict[str, list[str]]:
    """The medians of both books and by how much they differ."""
    return {
        f"{title} (torch), {unit[0]}": fixed([row.get("torch_median_ns") for row in rows], unit[1]),
        f"{title} (nsys), {unit[0]}": fixed([row.get("nsys_median_ns") for row in rows], unit[1]),
        "difference, %": signed([row.get("difference_pct") for row in rows]),
    }


def gpu_columns(blocks: Rows, unit: tuple[str, float]) -> dict[str, list[str]]:
    """GPU time of a whole call, for workloads without a memory-bound chain."""
    return both_books("GPU time", list(blocks.values()), unit)


def chain_columns(blocks: Rows, chains: Rows, first: str, unit: tuple[str, float]) -> dict[str, list[str]]:
    rows = [chains.get(variant, {}) for variant in blocks]
    base = chains.get(first, {})
    return both_books("chain", rows, unit) | {
        "chain ratio": [
            ratio(quotient(base.get("nsys_median_ns"), row.get("nsys_median_ns"))) for row in rows
        ],
        "byte ratio": [ratio(quotient(base.get("model_bytes"), row.get("model_bytes"))) for row in rows],
        "bandwidth, TB/s": fixed([row.get("achieved_bytes_per_s") for row in rows], 1e12, 2),
        "of copy, %": fixed([row.get("fraction_of_copy") for row in rows], 0.01),
    }


def signed(column: list[float | None]) -> list[str]:
    return [MISSING if value is None else f"{value:+.2f}" for value in column]


def legend(first: str, device: str, shown: Mapping[str, list[str]]) -> str:
    """What the columns are, as far as they are there."""
    timer = "on the host's clock" if device == "cpu" else "of CUDA events"
    told = [f"Block: a whole call, median {timer} in an unprofiled process."]
    if any(title.startswith("chain (") for title in shown):
        told.append("Chain: the memory-bound kernels of a call, median in each book.")
    if any(title.startswith("GPU time (") for title in shown):
        told.append("GPU time: the kernels and copies of a call, median in each book.")
    if "difference, %" in shown:
        told.append("Difference: (torch − nsys) ÷ nsys.")
    return " ".join([*told, f"Ratios: {code(first, cell=False)} ÷ variant."])


def why_they_differ(blocks: Rows, chains: Rows, first: str) -> str | None:
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
        f"With {code(best, cell=False)} the chain is {ratio(chain['nsys_median_ns'] / best_chain['nsys_median_ns'])} as"
        f" fast and the whole block {ratio(whole)}, because the chain is only {share(part)} of"
        f" {code(first, cell=False)}'s GPU time ({duration(chain['nsys_median_ns'])} of"
        f" {duration(block['nsys_median_ns'])}) and fusing does not touch the rest: with a chain that took no time at"
        f" all, the block's GPU work would be {ratio(1 / (1 - part))} as fast."
    )
