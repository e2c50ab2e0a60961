"""Readers of what `nsys stats` prints: CSVs by header name, and the two spellings of a range.

Pure functions; nothing here starts a process.  The tool writes CSV without escaping: a name with an inner
quote or a line break makes rows that are no CSV.  Such a file is refused, never read with a guess.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from pathlib import Path

from ..errors import EvidenceError

DOMAIN = "kernel_ledger"

_SPREAD = ("Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)")
_KERNELS = ("Time (%)", "Total Time (ns)", "Instances", *_SPREAD, "Name")
COLUMNS: dict[str, tuple[str, ...]] = {
    "nvtx_sum.csv": ("Time (%)", "Total Time (ns)", "Instances", *_SPREAD, "Style", "Range"),
    "nvtx_gpu_proj_sum.csv": (
        "Range",
        "Style",
        "Total Proj Time (ns)",
        "Total Range Time (ns)",
        "Range Instances",
        "Proj Avg (ns)",
        "Proj Med (ns)",
        "Proj Min (ns)",
        "Proj Max (ns)",
        "Proj StdDev (ns)",
        "Total GPU Ops",
        "Avg GPU Ops",
        "Avg Range Lvl",
        "Avg Num Child",
    ),
    "nvtx_kern_sum.csv": (
        "NVTX Range",
        "Style",
        "PID",
        "TID",
        "NVTX Inst",
        "Kern Inst",
        "Total Time (ns)",
        *_SPREAD,
        "Kernel Name",
    ),
    "cuda_gpu_kern_sum.csv": _KERNELS,
    "cuda_gpu_kern_sum_by_range.csv": _KERNELS,
}
"""File of a capture -> its columns, as nsys 2023.4 to 2025.3 write them."""

OLD_KERNELS = (*_KERNELS[:-1], "GridXYZ", "BlockXYZ", "Name")
"""Columns of gpukernsum, the kernel summary of nsys 2022."""

_TEXT = {"Range", "NVTX Range", "Style", "Name", "Kernel Name", "GridXYZ", "BlockXYZ"}
_DECIMAL = re.compile(r"Time \(%\)|(Proj )?(Avg|Med|StdDev) \(ns\)|Avg (GPU Ops|Range Lvl|Num Child)")
_INTEGER_TEXT = re.compile(r"-?[0-9]+")
_DECIMAL_TEXT = re.compile(r"-?[0-9]+(\.[0-9]+)?")
Cell = str | int | Decimal | None


def read_stats_csv(path: Path, required_columns: Sequence[str]) -> list[dict[str, Cell]]:
    """Rows of a CSV of `nsys stats`: text as it stands, counts and sums as int, means as Decimal.

    An empty number is None.  Raises EvidenceError on missing, unknown or doubled columns, on anything
    that is no CSV, on text where a number belongs, and on negative or reversed numbers.
    """
    rows = _raw_rows(path)
    if not rows:
        raise EvidenceError(
            "this CSV is empty: the export of this report failed",
            where=path,
            expected=f"the header {', '.join(required_columns)}",
            next_step="see export.json and export-log.txt beside it",
        )
    header = rows[0]
    if sorted(header) != sorted(required_columns):
        raise EvidenceError(
            "this CSV has other columns",
            where=path,
            expected=", ".join(required_columns),
            found=", ".join(header),
            next_step="this version of nsys is not known here: export with the version that recorded",
        )
    return [_row(path, number, header, cells) for number, cells in enumerate(rows[1:], start=2)]


def _raw_rows(path: Path) -> list[list[str]]:
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            rows = [row for row in csv.reader(stream, strict=True) if row]
    except FileNotFoundError:
        raise EvidenceError("this CSV is missing", where=path, next_step="run the export again") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _no_csv(path, error) from error
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise _no_csv(path, f"row {number} has {len(row)} cells, the header {len(rows[0])}")
        if any("\n" in cell or "\r" in cell for cell in row):
            raise _no_csv(path, f"a line break in row {number}")
    return rows


def _no_csv(path: Path, found: object) -> EvidenceError:
    return EvidenceError(
        "this file is not valid CSV",
        where=path,
        expected="one line for each row",
        found=found,
        next_step="nsys does not escape quotes and line breaks in names: rename the range or kernel",
    )


def _row(path: Path, number: int, header: Sequence[str], cells: Sequence[str]) -> dict[str, Cell]:
    row = {name: _cell(path, number, name, cell) for name, cell in zip(header, cells, strict=True)}
    for prefix in ("", "Proj "):
        least, most = row.get(f"{prefix}Min (ns)"), row.get(f"{prefix}Max (ns)")
        if least is not None and most is not None and least > most:
            raise EvidenceError(f"row {number} is reversed", where=path, found=f"Min {least} > Max {most}")
    return row


def _cell(path: Path, number: int, name: str, text: str) -> Cell:
    if name in _TEXT:
        return text
    if text == "":
        return None
    number_type, pattern = (Decimal, _DECIMAL_TEXT) if _DECIMAL.fullmatch(name) else (int, _INTEGER_TEXT)
    if not pattern.fullmatch(text):
        raise EvidenceError(f"row {number}: {name} is not a number", where=path, found=repr(text))
    value = number_type(text)
    if value < 0:
        raise EvidenceError(f"row {number}: {name} is negative", where=path, found=text)
    return value


def range_name(printed: str, announced: Collection[str]) -> tuple[str | None, str]:
    """(domain, name) of a range as a CSV prints it: ``name``, ``:name`` or ``domain:name``.

    nsys 2025.3 puts a colon before the default domain's names, 2023.4 does not; a name may hold colons
    itself, so the announced names decide where it begins.  Any other text is (None, text).
    """
    if printed in announced:
        return None, printed
    for name in sorted(announced, key=lambda n: (-len(n), n)):
        if printed.endswith(f":{name}"):
            return printed[: -len(name) - 1] or None, name
    return None, printed.removeprefix(":")


def split_range_symbol(text: str, announced: Iterable[str], domain: str = DOMAIN) -> tuple[str | None, str]:
    """(range, symbol) of a name in cuda_gpu_kern_sum:nvtx-name, which joins them with a slash.

    The tool writes the innermost range without its domain.  Range names hold slashes, so only an
    announced one is split off; a kernel outside them all is (None, text).
    """
    for name in sorted(announced, key=lambda n: (-len(n), n)):
        for spelling in (name, f":{name}", f"{domain}:{name}"):
            if text.startswith(f"{spelling}/"):
                return name, text[len(spelling) + 1 :]
    return None, text.removeprefix(":")  # of another range of the default domain, as nsys 2025.3 spells it
