"""PTX text: one kernel of a module by itself, and the widths of its loads and stores.  No tool is needed."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePosixPath

ENTRY = re.compile(r"^[ \t]*(?:\.(?:visible|weak)[ \t]+)?\.entry[ \t]+([\w$.]+)", re.MULTILINE)
ACCESS = re.compile(r"\b(ld|st)\.global((?:\.[\w:]+)*)")
FILE = re.compile(r'^(\s*\.file\s+\d+\s+)"([^"]*)"', re.MULTILINE)
VECTOR = {"v2": 2, "v4": 4, "v8": 8}
SCALAR = re.compile(r"[busf](\d+)(?:x2)?")


def kernels(module: str) -> dict[str, str]:
    """Symbol -> a module of that kernel alone, with the module's head and its other declarations.

    Paths of source files become file names: they would tell of the machine that compiled.
    """
    text = FILE.sub(lambda m: f'{m[1]}"{PurePosixPath(m[2]).name}"', module)
    starts = [(m.start(), m[1]) for m in ENTRY.finditer(text)]
    spans = [(start, body_end(text, start), symbol) for start, symbol in starts]
    found = {}
    for start, end, symbol in spans:
        others = [(a, b) for a, b, name in spans if name != symbol]
        found[symbol] = without(text, others).strip() + "\n" if end > start else ""
    return found


def body_end(text: str, start: int) -> int:
    """Where the braces of an entry's body close."""
    depth, at = 0, text.find("{", start)
    for place in range(at, len(text)) if at >= 0 else ():
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return place + 1
    return len(text)


def without(text: str, spans: list[tuple[int, int]]) -> str:
    kept, at = [], 0
    for start, end in sorted(spans):
        kept.append(text[at:start])
        at = end
    return "".join([*kept, text[at:]])


def widths(ptx: str) -> dict[str, dict[int, int]]:
    """ "load" and "store" -> bits of one access of device memory by a thread -> how many instructions have it."""
    found: dict[str, Counter[int]] = {"load": Counter(), "store": Counter()}
    for kind, modifiers in ACCESS.findall(ptx):
        parts = [part for part in re.split(r"[.:]+", modifiers) if part]
        scalar = next((int(m[1]) for part in reversed(parts) if (m := SCALAR.fullmatch(part))), None)
        if scalar is not None:
            bits = scalar * next((VECTOR[part] for part in parts if part in VECTOR), 1)
            found["load" if kind == "ld" else "store"][bits] += 1
    return {kind: dict(sorted(counts.items(), reverse=True)) for kind, counts in found.items()}


def architecture(module: str) -> str | None:
    """The target of a module, such as sm_90."""
    match = re.search(r"^\s*\.target\s+(\w+)", module, re.MULTILINE)
    return match[1] if match else None
