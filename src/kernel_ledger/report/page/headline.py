"""The headline table of a case, and one line a case for the overview: both with the numbers of summary.md."""

from __future__ import annotations

from dataclasses import dataclass

from ..numbers import MISSING, duration, percent, quotient, rate, ratio
from .read import Case

HEADER = ("variant", "block (events)", "chain (torch)", "chain (nsys)", "difference", "block ratio", "chain ratio",
          "byte ratio", "bandwidth", "of copy")  # fmt: skip


@dataclass(frozen=True)
class Headline:
    """A variant against the first of its case; times in ns, ratios first ÷ variant."""

    variant: str
    event_ns: float | None
    torch_ns: float | None
    nsys_ns: float | None
    difference_pct: float | None
    block_ratio: float | None
    chain_ratio: float | None
    byte_ratio: float | None
    rate: float | None
    of_copy: float | None

    @property
    def cells(self) -> list[str]:
        share = MISSING if self.of_copy is None else f"{self.of_copy:.1%}"
        return [duration(self.event_ns), duration(self.torch_ns), duration(self.nsys_ns), percent(self.difference_pct),
                ratio(self.block_ratio), ratio(self.chain_ratio), ratio(self.byte_ratio), rate(self.rate), share]  # fmt: skip


def headlines(case: Case) -> list[Headline]:
    blocks, chains = case.by_variant("block"), case.by_variant("chain")
    first = next(iter(blocks), None)
    return [headline(v, blocks[v], chains.get(v, {}), blocks[first], chains.get(first, {})) for v in blocks]


def headline(variant: str, block: dict, chain: dict, first: dict, first_chain: dict) -> Headline:
    event, nsys, bytes_ = (
        block["event_median_ns"],
        chain.get("nsys_median_ns"),
        chain.get("model_bytes"),
    )
    return Headline(
        variant=variant,
        event_ns=event,
        torch_ns=chain.get("torch_median_ns"),
        nsys_ns=nsys,
        difference_pct=chain.get("difference_pct"),
        block_ratio=quotient(first["event_median_ns"], event),
        chain_ratio=quotient(first_chain.get("nsys_median_ns"), nsys),
        byte_ratio=quotient(first_chain.get("model_bytes"), bytes_),
        rate=chain.get("achieved_bytes_per_s"),
        of_copy=chain.get("fraction_of_copy"),
    )


def best(case: Case) -> Headline | None:
    """The variant of the chain with the fastest block, references and the first one aside; None without a chain."""
    rivals = [
        h for h in headlines(case)[1:] if h.event_ns and h.chain_ratio and not case.is_reference(h.variant)
    ]
    return min(rivals, key=lambda h: h.event_ns, default=None)


def overview_line(case: Case) -> dict:
    """The first variant, the best one, and how many rows have which status."""
    lines, winner = headlines(case), best(case)
    statuses: dict[str, int] = {}
    for row in case.rows:
        statuses[row["status"]] = statuses.get(row["status"], 0) + 1
    first = lines[0] if lines else None
    return {
        "workload": case.workload,
        "case": case.case,
        "first": first.variant if first else MISSING,
        "first_time": (duration(first.event_ns), first.event_ns) if first else (MISSING, None),
        "best": winner.variant if winner else MISSING,
        "best_time": (duration(winner.event_ns), winner.event_ns) if winner else (MISSING, None),
        "block": (ratio(winner.block_ratio), winner.block_ratio) if winner else (MISSING, None),
        "chain": (ratio(winner.chain_ratio), winner.chain_ratio) if winner else (MISSING, None),
        "statuses": ", ".join(f"{count} {status}" for status, count in sorted(statuses.items())) or "no row",
        "good": set(statuses) <= {"verified", "not_applicable"} and bool(statuses),
    }
