"""summary.md: the verdict first, the headline table, then whatever did not balance and why."""

from __future__ import annotations

from collections.abc import Iterator

from .numbers import MISSING, code, duration, percent, quotient, rate, ratio, table, text

SIGNS = {"pass": "✓ pass", "fail": "✗ fail", "unknown": "? unknown", "not_applicable": "– not applicable"}
SENTENCES = {
    "verified": "Both books balance: every check that this run needs was made, and held.",
    "refuted": "The books do not balance. Do not quote a number of this run before the failed checks below are understood.",
    "unverifiable": "A required check could not be made, so nothing here is verified. The reasons are below.",
}


def summary(rows: list[dict], verdict: dict) -> str:
    """The Markdown text of a run's summary."""
    run = rows[0]["run"] if rows else "run"
    lines = [f"# {text(run)}: {verdict['verdict']}", "", SENTENCES[verdict["verdict"]], ""]
    if verdict["device"] == "cpu":
        lines += ["**A rehearsal on the CPU: no GPU kernel was measured, and none is verified.**", ""]
    lines += table(["check", "status", "measured"], [check_line(c) for c in verdict["checks"]])
    lines += reasons(verdict)
    for workload, case in dict.fromkeys((r["workload"], r["case"]) for r in rows):
        mine = [r for r in rows if (r["workload"], r["case"]) == (workload, case)]
        lines += ["", f"## {text(workload)} · {text(case)}", "", *case_lines(mine)]
    lines += ["", "## What did not balance", "", *unbalanced(rows), ""]
    return "\n".join(lines)


def check_line(check: dict) -> list[str]:
    measured = check["measured"] or {}
    return [
        code(check["id"]),
        SIGNS[check["status"]],
        text("; ".join(str(v) for v in measured.values())) or MISSING,
    ]


def reasons(verdict: dict) -> list[str]:
    """The reason of every check that failed or could not be made."""
    bad = [c for c in verdict["checks"] if c["status"] in ("fail", "unknown")]
    return ["", *[f"- `{c['id']}` ({c['status']}): {text(c['reason'] or '')}" for c in bad]] if bad else []


def case_lines(rows: list[dict]) -> Iterator[str]:
    """The headline table of one case and what follows from it."""
    blocks = {r["variant"]: r for r in rows if r["level"] == "block"}
    chains = {r["variant"]: r for r in rows if r["level"] == "chain"}
    if any(r["cache_resident"] for r in rows):
        yield "**Cache-resident: the working set fits the GPU's L2, so this is no memory benchmark.**"
        yield ""
    first = next(iter(blocks))
    header = ["variant", "block (events)", "chain (torch)", "chain (nsys)", "difference", "block ratio", "chain ratio",
              "byte ratio", "bandwidth", "of copy"]  # fmt: skip
    yield from table(
        header, [headline(v, blocks[v], chains.get(v), blocks[first], chains.get(first)) for v in blocks]
    )
    yield ""
    yield f"Block: a whole call, median of CUDA events in an unprofiled process. Ratios: {code(first)} ÷ variant."
    yield from why_they_differ(blocks, chains, first)


def headline(
    variant: str, block: dict, chain: dict | None, first: dict, first_chain: dict | None
) -> list[str]:
    chain, base = chain or {}, first_chain or {}
    block_time, chain_time = block["event_median_ns"], chain.get("nsys_median_ns")
    return [
        code(variant),
        duration(block_time),
        duration(chain.get("torch_median_ns")),
        duration(chain_time),
        percent(chain.get("difference_pct")),
        ratio(quotient(first["event_median_ns"], block_time)),
        ratio(quotient(base.get("nsys_median_ns"), chain_time)),
        ratio(quotient(base.get("model_bytes"), chain.get("model_bytes"))),
        rate(chain.get("achieved_bytes_per_s")),
        MISSING if chain.get("fraction_of_copy") is None else f"{chain['fraction_of_copy']:.1%}",
    ]


def why_they_differ(blocks: dict[str, dict], chains: dict[str, dict], first: str) -> Iterator[str]:
    """One sentence on why the chain's ratio and the block's differ, with the numbers in it."""
    base = chains.get(first, {}).get("nsys_median_ns")
    whole = blocks[first]["nsys_median_ns"]
    best = min(
        (v for v in chains if v != first and chains[v]["nsys_median_ns"] and blocks[v]["nsys_median_ns"] and
         blocks[v]["nsys_median_ns"] > chains[v]["nsys_median_ns"]),
        key=lambda v: chains[v]["nsys_median_ns"],
        default=None,
    )  # fmt: skip
    if not base or not whole or best is None:
        return
    share = base / whole
    yield ""
    yield (
        f"The chain is {share:.1%} of {code(first)}'s GPU time ({duration(base)} of {duration(whole)}); the rest is library "
        f"kernels that fusing does not touch. So {code(best)} makes the chain {ratio(base / chains[best]['nsys_median_ns'])} "
        f"faster, and the whole block {ratio(quotient(blocks[first]['event_median_ns'], blocks[best]['event_median_ns']))}."
        f" With a chain that took no time at all it would be {ratio(1 / (1 - share))}."
    )


def unbalanced(rows: list[dict]) -> list[str]:
    """Every row that is neither verified nor beside the point, with its reason."""
    odd = [r for r in rows if r["status"] not in ("verified", "not_applicable")]
    if not odd:
        return ["Nothing: every row is `verified`" + (" or `not_applicable`." if any_na(rows) else ".")]
    return table(
        ["row", "status", "torch", "nsys", "reason"],
        [
            [
                text(
                    " / ".join(
                        [r["workload"], r["case"], r["variant"] or "(outside)", r["level"], r["name"][:120]]
                    )
                ),
                r["status"],
                entry(r, "torch"),
                entry(r, "nsys"),
                text(r["reason"] or ""),
            ]
            for r in odd
        ],
    )


def entry(row: dict, book: str) -> str:
    count = row[f"{book}_count"]
    return MISSING if count is None else f"{count} × {duration(row[f'{book}_median_ns'])}"


def any_na(rows: list[dict]) -> bool:
    return any(r["status"] == "not_applicable" for r in rows)
