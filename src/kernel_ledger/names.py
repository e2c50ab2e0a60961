"""Kernel names: one spelling for what the two tools spell differently.

nsys's mangled symbol, demangled by libstdc++, equals Kineto's name; unmangled symbols (cuBLAS, Triton)
are equal as they stand; Kineto leaves very long symbols mangled.  So both sides are demangled here, and
nothing else of a name is ever normalised.
"""

from __future__ import annotations

import re
from functools import cache

import cxxfilt

DIRECTIONS = {"Host-to-Device": "HtoD", "Device-to-Host": "DtoH", "Device-to-Device": "DtoD", "Peer-to-Peer": "PtoP",
              "Host-to-Host": "HtoH"}  # fmt: skip


@cache
def demangle(symbol: str) -> str:
    """The demangled name of an Itanium-ABI symbol; any other text comes back unchanged."""
    if not symbol.startswith("_Z"):
        return symbol
    try:
        return cxxfilt.demangle(symbol, external_only=False)
    except cxxfilt.InvalidName:
        return symbol


def base_name(name: str) -> str:
    """The function's own name, without namespace, template arguments and parameters.

    For reading, and to find kernels that a workload declares by name; never to join the two books.
    """
    without_return = re.sub(r"^(void|int|float|double) ", "", name)
    depth, kept = 0, []
    for character in without_return.replace("(anonymous namespace)", "{anonymous}"):
        if character == "<":
            depth += 1
        elif character == ">":
            depth -= 1
        elif character == "(" and depth == 0:
            break
        elif depth == 0:
            kept.append(character)
    return "".join(kept).rsplit("::", 1)[-1].strip()


def memory_name(kind: str) -> str:
    """One spelling for a copy of both tools: Kineto's "Memcpy DtoD (Device -> Device)", nsys's "Memcpy Device-to-Device"."""
    if kind.startswith("Memset"):
        return "Memset"
    found = re.match(r"Memcpy (HtoD|DtoH|DtoD|HtoH|PtoP)\b", kind)
    if found:
        return f"Memcpy {found[1]}"
    return f"Memcpy {DIRECTIONS.get(kind.removeprefix('Memcpy '), kind.removeprefix('Memcpy '))}"
