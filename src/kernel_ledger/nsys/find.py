"""Finds Nsight Systems, and says whether it can import what it records."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from .. import process
from ..environment import allowed
from ..errors import MachineError
from .memory import note, question, recall

VERSION = re.compile(r"Nsight Systems version (\d+(?:\.\d+)+)(\S*)")
ANSWER_S = 60


@dataclass(frozen=True)
class Nsys:
    """A usable nsys.  ``version_text``: as it states it, ``2023.4.4.54-234433681190v0``; ``missing``: what
    its importer lacks, None where ``importer_ok``."""

    path: Path
    version: tuple[int, ...]
    version_text: str
    importer_ok: bool
    missing: str | None

    def require_importer(self) -> None:
        """Raise MachineError if this nsys leaves only a .qdstrm behind."""
        if not self.importer_ok:
            raise MachineError(
                "this nsys cannot import its own recordings",
                where=self.path,
                expected="QdstrmImporter and its libraries beside it (host-linux-x64)",
                found=self.missing,
                next_step="install what is missing (libdw.so.1: package libdw1; libssh.so.4: libssh-4;"
                " the importer: the whole Nsight Systems), or set nsys.path in config.yaml",
            )


def parse_version(text: str) -> tuple[tuple[int, ...], str] | None:
    """(numbers, whole text) of the version that `nsys --version` printed, or None."""
    match = VERSION.search(text)
    return (tuple(int(n) for n in match[1].split(".")), match[1] + match[2]) if match else None


def find(configured: str | None, environ: Mapping[str, str], *, root: Path = Path("/")) -> Nsys:
    """As :func:`search`; within a workflow, a complete one is looked for once."""
    asked = question(configured, environ) if root == Path("/") else None
    if asked and (known := recall(asked)):
        return Nsys(Path(known["path"]), tuple(known["version"]), known["version_text"], True, None)
    found = search(configured, environ, root=root)
    if asked and found.importer_ok:
        answer = {"path": str(found.path), "version": list(found.version), "version_text": found.version_text}
        note(asked, answer)
    return found


def search(configured: str | None, environ: Mapping[str, str], *, root: Path = Path("/")) -> Nsys:
    """The nsys of the configuration, or the first complete one of PATH, the CUDA toolkit and /opt/nvidia.

    One without a working importer is only taken where there is no other.  ``root``: where the fixed
    places are looked for.  Raises MachineError with all places searched.
    """
    places = [("nsys.path", Path(configured))] if configured else list(_places(environ, root))
    searched, incomplete, seen = [], None, set()
    for origin, place in places:
        path = _executable(place)
        if path is None:
            searched.append(f"{origin}: {place} has none")
        elif path.resolve() not in seen:
            seen.add(path.resolve())
            nsys = _examine(path, environ)
            if nsys is not None and nsys.importer_ok:
                return nsys
            incomplete = incomplete or nsys
            searched.append(f"{origin}: {path} does not run" if nsys is None else f"{origin}: {path}")
    if incomplete is not None:
        return incomplete
    raise MachineError(
        "nsys (Nsight Systems) not found",
        expected="an nsys in nsys.path, on PATH, in the CUDA toolkit or in /opt/nvidia",
        found="; ".join(searched),
        next_step="install Nsight Systems (it comes with the CUDA toolkit) or set nsys.path in config.yaml",
    )


def _places(environ: Mapping[str, str], root: Path) -> Iterator[tuple[str, Path]]:
    """(origin, folder or file) of every place, in the order of preference."""
    path = environ.get("PATH", "")
    on_path = [Path(f) for f in path.split(os.pathsep) if f and (Path(f) / "nsys").exists()]
    yield from (("PATH", folder) for folder in on_path or [Path(f"({path})")])
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if environ.get(name):
            yield name, Path(environ[name]) / "bin"
    for pattern in (
        "usr/local/cuda*/bin",
        "opt/nvidia/nsight-systems/*/bin",
        "opt/nvidia/nsight-systems/*/target-linux-*",
        "opt/nvidia/nsight-compute/*/host/target-linux-*",
    ):
        found = sorted(root.glob(pattern), key=_newest_first)
        yield from ((f"/{pattern}", folder) for folder in found)
        if not found:
            yield f"/{pattern}", root / pattern


def _newest_first(path: Path) -> tuple:
    return tuple(-int(n) for n in re.findall(r"\d+", str(path))), str(path)


def _executable(place: Path) -> Path | None:
    """The nsys that a file or folder means."""
    for path in (place, place / "nsys", place / "bin" / "nsys"):
        if path.is_file() and os.access(path, os.X_OK):
            return path.absolute()
    return None


def _examine(path: Path, environ: Mapping[str, str]) -> Nsys | None:
    environment = allowed(environ)
    finished = process.run([path, "--version"], environment=environment, timeout_s=ANSWER_S)
    version = parse_version(finished.output)
    if version is None:
        return None
    missing = _importer_problem(path, environment)
    return Nsys(path, *version, importer_ok=missing is None, missing=missing)


def _importer_problem(path: Path, environment: Mapping[str, str]) -> str | None:
    """What keeps this nsys from importing, or None.

    Where the importer lies beside it, asking that for its version is enough (20 ms); else, as for the
    launcher script in a CUDA toolkit, only a recording of nothing can tell (1 s).
    """
    for importer in sorted(path.resolve().parent.parent.glob("*/QdstrmImporter")):
        finished = process.run([importer, "--version"], environment=environment, timeout_s=ANSWER_S)
        if finished.exit_status == 0:
            return None
        return f"{importer} does not run: {finished.last_lines(1) or f'exit status {finished.exit_status}'}"
    with tempfile.TemporaryDirectory(prefix="nsys-probe-") as folder:
        report = Path(folder) / "probe"
        command = [path, "profile", "--trace=none", "--sample=none", "--cpuctxsw=none", "-o", report, "true"]
        finished = process.run(command, environment=environment, timeout_s=ANSWER_S, cwd=Path(folder))
        if report.with_suffix(".nsys-rep").exists():
            return None
    said = [line for line in finished.output.splitlines() if "mporter" in line]
    return f"no QdstrmImporter beside it; it says: {' '.join(said) or finished.last_lines(3)}"
