"""kernels.csv and kernels/*.ptx of a run, from kernel_code.json and the launches in the traces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import EvidenceError
from ..files import read_json
from ..fusion import VariantSteps
from ..names import base_name, demangle

RECORD = "kernel_code.json"  # of a run, beside plan.json
COLUMNS = ("run", "name", "symbol", "origin", "architecture", "used_by", "registers", "trace_registers", "spill_store_bytes",
           "spill_load_bytes", "stack_bytes", "shared_bytes", "trace_shared_bytes", "ptx_load_bits", "ptx_store_bits",
           "sass_load_bits", "sass_store_bits", "vectorised", "ptx", "reason")  # fmt: skip
VECTOR_BITS = 64
LEAST_REGISTERS = 16  # what CUPTI reports of kernels that use fewer (H200: ruler_spin uses 8)
Row = dict[str, Any]


def launched_kernels(steps: Mapping[str, Mapping[str, VariantSteps]]) -> dict[str, Row]:
    """Demangled name -> what the traces have of each custom kernel.  ``steps``: "workload/case" -> variant -> steps."""
    found: dict[str, Row] = {}
    for case, variants in steps.items():
        for variant, of in variants.items():
            for op in (op for step in of.steps if step.kind == "own" for op in step.launched):
                if op.event.category != "kernel":
                    continue
                entry = found.setdefault(op.name, {"registers": set(), "shared": set(), "used_by": {}})
                entry["used_by"][f"{case}/{variant}"] = None
                for key, name in (("registers", "registers per thread"), ("shared", "shared memory")):
                    if name in op.event.args:
                        entry[key].add(int(op.event.args[name]))
    return found


def read_code(path: Path) -> tuple[list[Row], list[str]]:
    """Kernels and notes of kernel_code.json; where it is missing or damaged, none and the reason."""
    if not path.is_file():
        return [], ["the captures have no kernel_code.json"]
    try:
        value = read_json(path, format=1)
        return value["kernels"], value["notes"]
    except (EvidenceError, KeyError) as error:
        return [], [f"{RECORD}: {getattr(error, 'what', error)}"]


def kernel_rows(
    run: str, launched: Mapping[str, Row], code: Sequence[Row], notes: Sequence[str]
) -> tuple[list[Row], dict[str, str]]:
    """Rows of kernels.csv, and file name -> PTX.  A kernel whose code is not known has a row with the reason."""
    rows: list[Row] = []
    files: dict[str, str] = {}
    for name, seen in sorted(launched.items()):
        own = candidates([k for k in code if k["name"] == name], seen)
        shared = {"run": run, "name": name, "used_by": " ".join(seen["used_by"]), "trace_registers": one(seen["registers"]),
                  "trace_shared_bytes": one(seen["shared"])}  # fmt: skip
        for kernel in own:
            rows.append(shared | kernel_row(kernel, files, seen, len(own)))
        if not own:
            reason = "; ".join(notes) or "no compiler's output of this kernel was found"
            rows.append(shared | {"vectorised": "unknown", "reason": reason})
    return rows, files


def candidates(code: Sequence[Row], seen: Row) -> list[Row]:
    """Of several kernels of one name (Triton's cache keeps old ones) those that use as much as the launched one."""
    agreeing = [k for k in code if agrees(k, seen)]
    return agreeing if len(code) > 1 and agreeing else list(code)


def agrees(kernel: Row, seen: Row) -> bool:
    registers = resource(kernel, "registers")
    told = {registers, max(registers or 0, LEAST_REGISTERS)}
    return registers is None or not seen["registers"] or bool(told & seen["registers"])


def resource(kernel: Row, name: str) -> int | None:
    """Of the machine code that ran, where it was looked at; else of its PTX by ptxas."""
    for source in ("binary", "ptxas"):
        if kernel.get(source) and name in kernel[source]:
            return kernel[source][name]
    return None


def kernel_row(kernel: Row, files: dict[str, str], seen: Row, rivals: int) -> Row:
    widths, said = kernel["ptx_widths"] or {}, list(doubts(kernel, seen, rivals))
    sass = kernel["sass"] or {}
    loads = {int(bits) for bits in {**widths.get("load", {}), **sass.get("load", {})}}
    row = {"symbol": kernel["symbol"], "origin": kernel["origin"], "architecture": kernel["architecture"],
           "ptx_load_bits": bits_text(widths.get("load")), "ptx_store_bits": bits_text(widths.get("store")),
           "sass_load_bits": bits_text(sass.get("load")), "sass_store_bits": bits_text(sass.get("store")),
           "vectorised": "unknown" if not loads else "yes" if max(loads) >= VECTOR_BITS else "no"}  # fmt: skip
    for name in ("registers", "stack_bytes", "shared_bytes"):
        row[name] = resource(kernel, name)
    for name in ("spill_store_bytes", "spill_load_bytes"):
        row[name] = (kernel["ptxas"] or {}).get(name)
    if kernel["ptx"]:
        row["ptx"] = f"kernels/{file_name(kernel['name'], files)}"
        files[row["ptx"].removeprefix("kernels/")] = kernel["ptx"]
    return row | {"reason": "; ".join(said) or None}


def doubts(kernel: Row, seen: Row, rivals: int) -> Iterator[str]:
    if not agrees(kernel, seen):
        yield f"the launched kernel used {one(seen['registers'])} registers, this code {resource(kernel, 'registers')}"
    if rivals > 1:
        yield f"{rivals} kernels of this name are in the cache, and the trace does not tell which one ran"
    if not kernel["ptx"]:
        yield "its PTX was not kept by its compiler"
    if not kernel["sass"]:
        yield "widths are those of the PTX; there was no cuobjdump to look at the machine code"


def bits_text(widths: Mapping[str, int] | None) -> str | None:
    """Widths as "4 x 128, 1 x 32"; None where they are not known, "none" where there is no access."""
    if widths is None:
        return None
    return ", ".join(f"{count} x {bits}" for bits, count in widths.items()) or "none"


def one(values: Iterable[int]) -> str | None:
    return " | ".join(map(str, sorted(values))) or None


def file_name(name: str, taken: Mapping[str, str]) -> str:
    """A file for a kernel: its short name, numbered where another kernel has it."""
    stem = re.sub(r"[^A-Za-z0-9_.-]", "_", base_name(demangle(name)))[:100].lstrip(".-") or "kernel"
    numbered = [f"{stem}.ptx", *(f"{stem}-{number}.ptx" for number in range(2, len(taken) + 3))]
    return next(file for file in numbered if file not in taken)
