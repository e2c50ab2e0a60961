"""Which files of the user's own a workload file imports: a change of theirs makes captures stale, as one of its own.

Read from the import statements, without importing anything.  The user's own are modules beside the file, which can be
imported as if the file were run by `python`, and packages installed in place (pip install -e).  Installed packages,
the standard library and this package are not: records hold their versions, and sources.py follows this package.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path

from .errors import ConfigError
from .sources import PACKAGE, statements

ADDED: list[str] = []
"""The folders of workloads at the end of sys.path."""


def local_modules(path: Path) -> dict[str, Path]:
    """Module name -> file, of all that ``path`` imports of the user's own, directly or not; sorted, without itself."""
    found: dict[str, Path] = {}
    waiting = [("", path)]
    while waiting:
        name, file = waiting.pop()
        for module, source in imported(name, file, path.parent):
            if module not in found:
                found[module] = source
                waiting.append((module, source))
    return dict(sorted(found.items()))


def imported(name: str, file: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """What one file, the module ``name``, imports of the user's own; a package comes with its __init__."""
    if file.suffix != ".py":
        return
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):  # whoever imports it is told so by Python
        return
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    for node in statements(tree):
        for wanted in named(node, package):
            yield from files(wanted.split("."), folder)


def named(node: ast.AST, package: str) -> Iterator[str]:
    """The full names of modules that an import statement may mean, inside ``package``."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        parents = package.split(".") if package else []
        if node.level > len(parents):  # beyond the top: Python refuses it, too
            base = [node.module] if node.module and not node.level else []
        else:
            base = parents[: len(parents) - node.level + 1] if node.level else []
            base += [node.module] if node.module else []
        if base:
            yield from (".".join([*base, alias.name]) for alias in node.names)


def files(parts: list[str], folder: Path) -> Iterator[tuple[str, Path]]:
    """The files that ``import a.b.c`` reads, outermost first, as far as there are any: c may be no module."""
    if parts[0] == PACKAGE or parts[0] in sys.stdlib_module_names:
        return
    spec = own_spec(parts[0], folder.resolve())
    if spec is None:
        return
    if spec.origin:
        yield parts[0], Path(spec.origin)
    places = [Path(place) for place in spec.submodule_search_locations or ()]
    for end in range(1, len(parts)):
        name = ".".join(parts[: end + 1])
        inner = [place / parts[end] for place in places]
        for place in inner:
            for file in (place / "__init__.py", place.with_suffix(".py")):
                if file.is_file():
                    yield name, file
        places = [place for place in inner if place.is_dir()]


def own_spec(top: str, folder: Path) -> ModuleSpec | None:
    """Where a top-level module of the user's own is, None for any other."""
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):  # half imported, or without a spec: not a file of anyone's
        return None
    if spec is not None and installed(spec):
        return None
    return PathFinder.find_spec(top, [str(folder)]) or spec


def installed(spec: ModuleSpec) -> bool:
    """Whether a module is where a package manager puts them, which notes beside them what it put there."""
    if spec.origin in ("built-in", "frozen"):
        return True
    inside = [Path(place).parent for place in spec.submodule_search_locations or ()]
    homes = inside or ([Path(spec.origin).parent] if spec.origin else [])
    return any(
        any(home.glob("*.dist-info")) or any(part.endswith("-packages") for part in home.parts)
        for home in homes
    )


def make_importable(path: Path) -> None:
    """Let a workload file import what lies beside it; what is installed goes first.

    Raises ConfigError where another workload has brought another module of the same name into this process.
    """
    folder = str(path.resolve().parent)
    if folder in ADDED:
        ADDED.remove(folder)
        sys.path.remove(folder)
    if folder not in sys.path:
        sys.path.insert(
            len(sys.path) - len(ADDED), folder
        )  # of several workloads, the latest finds its own first
        ADDED.insert(0, folder)
    for name, source in local_modules(path).items():
        other = getattr(sys.modules.get(name), "__file__", None)
        if other and Path(other).resolve() != source.resolve():
            raise ConfigError(
                f"two workloads import different modules of the name {name!r}",
                where=path,
                expected=source,
                found=f"{other}, imported already",
                next_step="rename one of the two, or measure these workloads in runs of their own",
            )
