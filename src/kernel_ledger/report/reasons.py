"""Why a check failed, as a list that people read: what several passes share is said once, next steps last."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .numbers import code, shortened, text

PASS = re.compile(r"((?:repeat \d+: )?(?:timing|numerics|nsys|torch/[A-Za-z0-9_.-]+)(?:/[A-Za-z0-9_.-]+)*): ")
NEXT = re.compile(r"\.? ?Next: (.*)$")
MOST = 6


def reason_list(check: dict, labels: Sequence[str]) -> Iterator[str]:
    """Markdown list items of one check of verdict.json; ``labels``: the run's cases, as workload/case."""
    yield f"- **{text(check['id'])}**: {'failed' if check['status'] == 'fail' else 'could not be made'}"
    grouped, steps = gathered(check["reason"] or "", labels)
    for (label, words), passes in list(grouped.items())[:MOST]:
        where = ", ".join(code(name, cell=False) for name in [label, *passes[:4]] if name)
        where += f" and {len(passes) - 4} more" if len(passes) > 4 else ""
        yield f"  - {where}: {text(shortened(words))}" if where else f"  - {text(shortened(words))}"
    if len(grouped) > MOST:
        yield f"  - and {len(grouped) - MOST} more, in `verdict.json`"
    yield from (f"  - next: {text(shortened(step))}" for step in steps)


def gathered(reason: str, labels: Sequence[str]) -> tuple[dict[tuple[str, str], list[str]], list[str]]:
    """((case, words) -> passes that have these words, next steps), each once and in order."""
    grouped: dict[tuple[str, str], list[str]] = {}
    steps: list[str] = []
    label = ""
    for part in reason.split("; "):
        found = next((one for one in labels if part.startswith(f"{one}: ")), None)
        if found is not None:
            label, part = found, part.removeprefix(f"{found}: ")
        if step := NEXT.search(part):
            steps.append(step[1])
            part = part[: step.start()]
        passed = PASS.match(part)
        words = part[passed.end() :] if passed else part
        if words:
            passes = grouped.setdefault((label, words), [])
            passes += [passed[1]] if passed and passed[1] not in passes else []
    return grouped, list(dict.fromkeys(steps))
