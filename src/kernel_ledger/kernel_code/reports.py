"""What ptxas and cuobjdump print of kernels, as numbers."""

from __future__ import annotations

import re
from collections import Counter

COMPILING = re.compile(r"Compiling entry function '([^']+)' for '([^']+)'")
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")
FUNCTION = re.compile(r"^\s*Function\s*:?\s*([\w$.]+)\s*:?\s*$", re.MULTILINE)
RESOURCE = re.compile(r"\b(REG|STACK|SHARED|LOCAL):(\d+)")
LOAD = re.compile(r"\b(LDG|STG)\.E((?:\.\w+)*)")


def ptxas(output: str) -> dict[str, dict[str, int]]:
    """Symbol -> registers, spills, stack and static shared memory (bytes), from `ptxas -v`."""
    found: dict[str, dict[str, int]] = {}
    symbol = None
    for line in output.splitlines():
        if match := COMPILING.search(line):
            symbol = match[1]
            found[symbol] = {"shared_bytes": 0}
        elif symbol and (match := SPILLS.search(line)):
            names = ("stack_bytes", "spill_store_bytes", "spill_load_bytes")
            found[symbol] |= dict(zip(names, map(int, match.groups()), strict=True))
        elif symbol and (match := USED.search(line)):
            found[symbol]["registers"] = int(match[1])
            if shared := SHARED.search(line):
                found[symbol]["shared_bytes"] = int(shared[1])
    return found


def resource_usage(output: str) -> dict[str, dict[str, int]]:
    """Symbol -> registers, stack, shared and local memory (bytes), from `cuobjdump --dump-resource-usage`."""
    names = {"REG": "registers", "STACK": "stack_bytes", "SHARED": "shared_bytes", "LOCAL": "local_bytes"}
    found, symbol = {}, None
    for line in output.splitlines():
        if match := FUNCTION.match(line):
            symbol = match[1]
        elif symbol and (values := RESOURCE.findall(line)):
            found[symbol], symbol = {names[name]: int(value) for name, value in values}, None
    return found


def sass_widths(output: str) -> dict[str, dict[str, dict[int, int]]]:
    """Symbol -> "load" and "store" -> bits of one access -> instructions, from `cuobjdump --dump-sass`."""
    found: dict[str, dict[str, dict[int, int]]] = {}
    parts = FUNCTION.split(output)
    for symbol, code in zip(parts[1::2], parts[2::2], strict=True):
        counts: dict[str, Counter[int]] = {"load": Counter(), "store": Counter()}
        for kind, modifiers in LOAD.findall(code):
            bits = next((int(m.lstrip("US")) for m in modifiers.split(".") if m.lstrip("US").isdigit()), 32)
            counts["load" if kind == "LDG" else "store"][bits] += 1
        found[symbol] = {kind: dict(sorted(c.items(), reverse=True)) for kind, c in counts.items()}
    return found
