"""Which files of this package a script imports, directly or not: the inputs that make a pass stale.

Read from the import statements, without importing anything, so that a change of the report re-measures
nothing and a change of anything that a measured process runs does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = "kernel_ledger"


def imported_sources(roots: list[Path], package: Path) -> list[str]:
    """The roots and all files under ``package`` that they import, sorted; the top ``__init__`` aside."""
    seen: set[Path] = set()
    waiting = list(roots)
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen.add(path)
            waiting += modules(path, package)
    return sorted(path.as_posix() for path in seen - {package / "__init__.py"})


@cache
def modules(path: Path, package: Path) -> list[Path]:
    """Files of the package that one file names in its imports."""
    found = []
    for node in statements(ast.parse(path.read_bytes())):
        for parts in names(node, path, package):
            for end in range(1, len(parts) + 1):
                stem = package.joinpath(*parts[:end])
                found += [f for f in (stem.with_suffix(".py"), stem / "__init__.py") if f.is_file()]
    return found


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below a node; no expression holds an import, and a file is nearly all expressions."""
    for part in ("body", "orelse", "handlers", "finalbody", "cases"):
        for statement in getattr(node, part, ()):
            yield statement
            yield from statements(statement)


def names(node: ast.AST, path: Path, package: Path) -> Iterator[tuple[str, ...]]:
    """What an import statement may name inside the package, as parts below it."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            head, *parts = alias.name.split(".")
            if head == PACKAGE:
                yield tuple(parts)
    elif isinstance(node, ast.ImportFrom):
        base = node.module.split(".") if node.module else []
        if node.level:
            inside = path.parent.relative_to(package).parts if path.is_relative_to(package) else ()
            base = [*inside[: len(inside) - node.level + 1], *base]
        elif base[:1] == [PACKAGE]:
            base = base[1:]
        else:
            return
        for alias in node.names:
            yield (*base, alias.name)
