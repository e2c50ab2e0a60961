"""Collects the code of every custom kernel that the recorded traces name, into kernel_code.json.

nvcc's kernels: PTX of the sources by the flags of the build, resources of that PTX by ptxas, and of the library itself by
cuobjdump where there is one.  Triton's: the PTX of its cache.  load_inline's: what cuobjdump tells of the library.

The tools are many short processes, so they run side by side; by then nothing is measured any more.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from .. import inline_extension
from ..errors import EvidenceError
from ..files import read_json, sha256
from ..names import demangle
from . import ptx, reports
from .tools import Tools, output

FORMAT = 1  # of kernel_code.json
INFO = ("registers", "stack_bytes", "spill_store_bytes", "spill_load_bytes", "shared_bytes")
WORKERS = min(8, os.cpu_count() or 1)
Kernel = dict[str, Any]
Told = Mapping[str, Any]


def collect(build: Path, sources: Path, recorded: Collection[str], tools: Tools) -> dict[str, Any]:
    """kernel_code.json.  ``build``: the device's build folder; ``recorded``: demangled names in the traces."""
    notes: list[str] = []
    with ThreadPoolExecutor(WORKERS) as pool:
        work = [
            *from_library(build / "kernels.so", build / "build.json", sources, recorded, tools, notes, pool),
            *from_triton(build, recorded, tools, notes),
            *from_inline(build, recorded, tools, notes),
        ]
        kernels = [kernel for found in pool.map(lambda work: work(), work) for kernel in found]
    return {"format": FORMAT, "kernels": kernels, "notes": sorted(set(notes))}


Work = Callable[[], Iterable[Kernel]]  # what still has tools to ask


def from_library(
    library: Path,
    record: Path,
    sources: Path,
    recorded: Collection[str],
    tools: Tools,
    notes: list[str],
    pool: ThreadPoolExecutor,
) -> Iterator[Work]:
    """Kernels of the built extension."""
    if not library.is_file() or not record.is_file():
        return
    built = read_json(record, format=1)
    changed = [n for n, digest in built["sources"].items() if not matches(sources / n, digest)]
    if changed:
        notes.append(f"no PTX of csrc: {', '.join(changed)} changed after the build")
    elif tools.nvcc is None:
        notes.append("no PTX of csrc: there is no nvcc")
    told = pool.submit(from_binary, library, tools, notes)
    for number in [a.replace(".", "") for a in built["architectures"]]:
        flags, texts = built["flags"]["device"], dict[str, str]()
        to_compile = [] if changed or tools.nvcc is None else sorted(sources.glob("*.cu"))
        for text in pool.map(lambda s, n=number, f=flags: compiled(s, n, f, tools, notes), to_compile):
            texts |= ptx.kernels(text)
        for symbol in sorted({*texts, *told.result()}):
            if demangle(symbol) in recorded:
                yield partial(
                    one,
                    "nvcc",
                    symbol,
                    f"sm_{number}",
                    texts.get(symbol),
                    told.result().get(symbol),
                    tools,
                    notes,
                )


def matches(path: Path, digest: str) -> bool:
    return path.is_file() and sha256(path) == digest


def compiled(source: Path, number: str, flags: list[str], tools: Tools, notes: list[str]) -> str:
    """PTX of one source, by the build's flags."""
    own = [flag for flag in flags if not flag.startswith("-gencode")]
    with tempfile.TemporaryDirectory(prefix="kernel-ledger-") as place:
        target = Path(place) / f"{source.stem}.ptx"
        command = [tools.nvcc, "-ptx", f"-arch=compute_{number}", *own, source.resolve(), "-o", target]
        _, wrong = output(command, Path(place))
        if wrong:
            notes.append(f"no PTX of {source.name}: {wrong}")
            return ""
        return target.read_text()


def from_triton(build: Path, recorded: Collection[str], tools: Tools, notes: list[str]) -> Iterator[Work]:
    """Kernels in Triton's caches, by the names that the traces have; several of one name stay several."""
    seen: set[str] = set()
    for path in sorted(build.rglob("*.ptx")):
        if path.stem not in recorded or not (path.with_suffix(".json")).is_file():
            continue
        module = path.read_text(errors="replace")
        text = ptx.kernels(module).get(path.stem)
        if text is None or text in seen:
            continue
        seen.add(text)
        yield partial(cached, path, module, text, tools, notes)


def cached(path: Path, module: str, text: str, tools: Tools, notes: list[str]) -> list[Kernel]:
    """The kernel of one PTX file of Triton's cache."""
    cubin = path.with_suffix(".cubin")
    told = from_binary(cubin, tools, notes).get(path.stem) if cubin.is_file() else None
    own = metadata(path.with_suffix(".json"), notes)
    made = kernel("triton", path.stem, ptx.architecture(module), text, told, tools, notes)
    return [made | {"triton": own, "made": path.stat().st_mtime_ns}]


def metadata(path: Path, notes: list[str]) -> dict[str, Any]:
    """What Triton wrote beside a kernel of how it is launched."""
    try:
        meta = read_json(path)
    except EvidenceError as error:
        notes.append(f"{path.name}: {error.what}")
        return {}
    return {key: meta[key] for key in ("shared", "num_warps", "num_stages") if key in meta}


def from_inline(build: Path, recorded: Collection[str], tools: Tools, notes: list[str]) -> Iterator[Work]:
    """Kernels that load_inline built: of them there is only the machine code."""
    for mark in sorted(build.rglob(inline_extension.DONE)):
        for library in sorted(mark.parent.glob("*.so")):
            yield partial(of_module, library, recorded, tools, notes)


def of_module(library: Path, recorded: Collection[str], tools: Tools, notes: list[str]) -> list[Kernel]:
    """The kernels of one module of load_inline."""
    return [
        kernel("load_inline", symbol, None, None, told, tools, notes)
        for symbol, told in sorted(from_binary(library, tools, notes).items())
        if demangle(symbol) in recorded
    ]


def from_binary(path: Path, tools: Tools, notes: list[str]) -> dict[str, dict[str, Any]]:
    """Symbol -> resources and widths of its machine code; empty without cuobjdump."""
    if tools.cuobjdump is None:
        notes.append("no look at the machine code: there is no cuobjdump")
        return {}
    where = path.resolve().parent
    usage, wrong = output([tools.cuobjdump, "--dump-resource-usage", path.resolve()], where)
    code, also = output([tools.cuobjdump, "--dump-sass", path.resolve()], where)
    notes += [f"{path.name}: {text}" for text in (wrong, also) if text]
    found: dict[str, dict[str, Any]] = {
        s: {"binary": used} for s, used in reports.resource_usage(usage).items()
    }
    for symbol, widths in reports.sass_widths(code).items():
        found.setdefault(symbol, {})["sass"] = widths
    return found


def one(*arguments: Any) -> list[Kernel]:
    return [kernel(*arguments)]


def kernel(
    origin: str,
    symbol: str,
    architecture: str | None,
    text: str | None,
    told: Told | None,
    tools: Tools,
    notes: list[str],
) -> Kernel:
    """One entry of kernel_code.json."""
    entry = {
        "origin": origin,
        "name": demangle(symbol),
        "symbol": symbol,
        "architecture": architecture,
        "ptx": text,
    }
    entry |= {
        "ptx_widths": ptx.widths(text) if text else None,
        "ptxas": assembled(text, symbol, architecture, tools, notes),
    }
    return entry | {"binary": (told or {}).get("binary"), "sass": (told or {}).get("sass")}


def assembled(
    text: str | None, symbol: str, architecture: str | None, tools: Tools, notes: list[str]
) -> dict[str, int] | None:
    """What ptxas says of a kernel's PTX."""
    if not text or not architecture:
        return None
    if tools.ptxas is None:
        notes.append("spills are unknown: there is no ptxas")
        return None
    with tempfile.TemporaryDirectory(prefix="kernel-ledger-") as place:
        path = Path(place) / "kernel.ptx"
        path.write_text(text)
        command = [
            tools.ptxas,
            "-v",
            f"--gpu-name={architecture}",
            path,
            "--output-file",
            Path(place) / "kernel.cubin",
        ]
        said, wrong = output(command, Path(place))
    if wrong:
        notes.append(f"{demangle(symbol)}: {wrong}")
    return reports.ptxas(said).get(symbol)
