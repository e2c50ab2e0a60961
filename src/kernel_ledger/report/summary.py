"""summary.md, good enough to paste into a pull request: verdict, headline tables, what did not balance, claims, checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..plan_file import Plan
from .claims import claim_table
from .headline import case_lines
from .numbers import MISSING, code, duration, shortened, table, text
from .reasons import reason_list

SIGNS = {"pass": "✓ pass", "fail": "✗ fail", "unknown": "? unknown", "not_applicable": "– not applicable"}
OUTCOMES = {"held": "✓ held", "refuted": "✗ refuted", "not tested": "? not tested"}
SENTENCES = {
    "verified": "Both books balance: every check that this run needs was made, and held.",
    "refuted": "The books do not balance. Do not quote a number of this run before the failed checks below are understood.",
    "unverifiable": "A required check could not be made, so nothing here is verified. The reasons are below.",
}
REHEARSED = "Every check that needs no GPU was made, and held."
MACHINE = ("GPU", "driver", "CUDA", "PyTorch", "Nsight Systems")
MOST_ROWS = 30
MOST_CHARACTERS = 200  # of what a claim measured; claims.csv has all of it


def summary(
    rows: list[dict],
    verdict: dict,
    claims: Sequence[Mapping[str, str]] = (),
    machine: Sequence[tuple[str, list[str]]] = (),
    plan: Plan | None = None,
) -> str:
    """The Markdown text of a run's summary.

    ``claims``: the rows of claims.csv; ``machine``: (what, its values), as the passes recorded them;
    ``plan``: says which variants are yardsticks.
    """
    run = rows[0]["run"] if rows else "run"
    cases = list(dict.fromkeys((r["workload"], r["case"]) for r in rows))
    lines = [f"# {text(run)}: {verdict['verdict']}", "", SENTENCES[verdict["verdict"]], ""]
    if verdict["device"] == "cpu":
        lines[2] = lines[2].replace(SENTENCES["verified"], REHEARSED)
        lines += ["**A rehearsal on the CPU: no GPU kernel was measured, and none is verified.**", ""]
    if told := verdict.get("excerpt"):
        lines += [
            f"An excerpt of run {code(told['of'])}: {len(told['left_out'])} other cases are left out.",
            "",
        ]
    for check in verdict["checks"]:
        if check["status"] in ("fail", "unknown"):
            lines += reason_list(check, [f"{w}/{c}" for w, c in cases])
    lines += machine_line(machine)
    for key in cases:
        mine = [r for r in rows if (r["workload"], r["case"], r["rank"]) == (*key, 0)]
        lines += [
            "",
            f"## {text(key[0])} · {text(key[1])}",
            "",
            *case_lines(mine, verdict["device"], references(plan, key)),
            *of_first_rank(rows, key),
        ]
    lines += ["", "## What did not balance", "", *unbalanced(rows)]
    lines += ["", "## Claims", "", *claim_lines(claims)] if claims else []
    lines += [
        "",
        "## Checks",
        "",
        *table(["check", "status", "measured"], list(map(check_line, verdict["checks"])), left=3),
    ]
    return "\n".join(squeezed(lines)) + "\n"


def references(plan: Plan | None, key: tuple[str, str]) -> set[str]:
    """Variants of a case that the plan has as yardsticks."""
    cases = plan.cases if plan else ()
    return {
        v for c in cases if (c.workload, c.case) == key for v, role in c.roles.items() if role == "reference"
    }


def of_first_rank(rows: Sequence[Mapping[str, object]], key: tuple[str, str]) -> list[str]:
    """A remark under the table of a case that ran as several processes."""
    ranks = {r["rank"] for r in rows if (r["workload"], r["case"]) == key}
    return (
        ["", f"Of rank 0; {len(ranks)} ranks ran, and are compared under *Ranks*."] if len(ranks) > 1 else []
    )


def squeezed(lines: Sequence[str]) -> Iterator[str]:
    """Lines with no two empty ones in a row."""
    last = ""
    for line in lines:
        if line or last:
            yield line
        last = line


def machine_line(machine: Sequence[tuple[str, list[str]]]) -> list[str]:
    """GPU and versions on one line; several values of one kind are all there."""
    known = dict(machine)
    told = [
        ("" if name == "GPU" else f"{name} ") + text(" / ".join(known[name]))
        for name in MACHINE
        if known.get(name)
    ]
    return ["", " · ".join(told)] if told else []


def check_line(check: dict) -> list[str]:
    measured = check["measured"] or {}
    return [
        code(check["id"]),
        SIGNS[check["status"]],
        text(shortened("; ".join(map(str, measured.values())))) or MISSING,
    ]


def claim_lines(claims: Sequence[Mapping[str, str]]) -> list[str]:
    """A table of claims; cases in which one came out the same way, with the same figures, share a line."""
    found = []
    for line in claim_table(claims):
        more = f" and {len(line.cases) - 3} more" if len(line.cases) > 3 else ""
        found.append(
            [
                OUTCOMES.get(line.outcome, text(line.outcome)),
                f"{text(line.sentence)} ({code(line.claim)})",
                ", ".join(map(code, line.cases[:3])) + more,
                measured_or_why(line.figures, line.reason),
            ]
        )
    return [
        *table(["outcome", "claim", "case", "measured, or why not"], found, left=4),
        "",
        "Claims are what was expected (`config.yaml`); they decide no verdict. `claims.csv` has them in full.",
    ]


def measured_or_why(figures: Sequence[str], reason: str) -> str:
    """One cell, of about 200 characters at most; figures are cut last."""
    whole = shortened("; ".join(figures), MOST_CHARACTERS)
    why = shortened(reason, max(MOST_CHARACTERS - len(whole), MOST_CHARACTERS // 5))
    parts = [code(part) for part in whole.split("; ") if part]
    return "; ".join([*parts, *([text(why)] if why else [])]) or MISSING


def unbalanced(rows: list[dict]) -> list[str]:
    """Every row that is neither verified nor beside the point, with its reason."""
    odd = [r for r in rows if r["status"] not in ("verified", "not_applicable")]
    if not odd:
        also = any(r["status"] == "not_applicable" for r in rows)
        return ["Nothing: every row is `verified`" + (" or `not_applicable`." if also else ".")]
    more = [f"and {len(odd) - MOST_ROWS} more rows in `results.csv`"] if len(odd) > MOST_ROWS else []
    lines = table(
        ["row", "status", "torch", "nsys", "reason"], [odd_line(r) for r in odd[:MOST_ROWS]], left=2
    )
    return [*align_last_left(lines), *(["", *more] if more else [])]


def align_last_left(lines: list[str]) -> list[str]:
    """A table whose last column is text."""
    return [lines[0], lines[1].removesuffix("---: |") + "--- |", *lines[2:]]


def odd_line(row: dict) -> list[str]:
    place = [row["workload"], row["case"], row["variant"] or "(outside)", row["level"]]
    place += [f"rank {row['rank']}"] if row["rank"] else []
    return [
        f"{text(' / '.join(place))} {code(shortened(row['name'], 80))}",
        code(row["status"]),
        entry(row, "torch"),
        entry(row, "nsys"),
        text(shortened(row["reason"] or "")) or MISSING,
    ]


def entry(row: dict, book: str) -> str:
    count = row[f"{book}_count"]
    return MISSING if count is None else f"{count} × {duration(row[f'{book}_median_ns'])}"
