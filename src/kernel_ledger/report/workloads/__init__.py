"""What the summary says beside the headline table where a workload asks for it: sections in Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...plan_file import Plan, read_plan
from .absent import absent_lines
from .nested import nested_lines
from .published import published_lines
from .throughput import throughput_lines

SECTIONS = (published_lines, throughput_lines, nested_lines)


def workload_sections(rows: list[dict], captures: Path) -> str:
    """All sections of a run as Markdown, which begins with an empty line; empty where there is nothing to say."""
    return "\n".join(["", *lines(rows, read_plan(captures / "plan.json"), captures), ""])


def lines(rows: list[dict], plan: Plan, captures: Path) -> Iterator[str]:
    for section in SECTIONS:
        yield from section(rows, plan, captures)
    yield from absent_lines(captures / "plan.json")
