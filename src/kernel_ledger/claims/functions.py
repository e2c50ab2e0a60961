"""The functions that a claim may call, each over the rows and files of one case."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..columns import BY_NAME, LEVELS
from ..errors import EvidenceError
from ..files import read_json, sha256
from ..names import demangle, memory_name
from .language import BOOKS, NUMBER, TRUTH, Parameter, Signature

NUMERIC = tuple(name for name, column in BY_NAME.items() if column.type in ("integer", "number"))
VARIANT, OPTIONAL_VARIANT = Parameter("variant", "variant"), Parameter("variant", "variant", optional=True)
BOOK = Parameter("book", "book", BOOKS, default="nsys")
SIGNATURES = {
    s.name: s
    for s in (
        Signature("block", (VARIANT, Parameter("book", "book", ("events", *BOOKS), default="events")), NUMBER,
                  "ns of a whole call: the median by CUDA events, or of its GPU time in a book"),
        Signature("chain", (VARIANT, BOOK), NUMBER, "ns of the memory-bound chain of a call: the median in a book"),
        Signature("bytes", (VARIANT,), NUMBER, "bytes that the traffic model says the chain of a call must move"),
        Signature("kernel", (VARIANT, Parameter("name"), BOOK), NUMBER,
                  "ns: the median of the one kernel whose name contains this text"),
        Signature("rank", (VARIANT, Parameter("operator"), BOOK), NUMBER,
                  "place of the operator's greatest kernel or copy among all of the variant by GPU time in all, 1 the greatest"),
        Signature("launches", (Parameter("book", "book", BOOKS), OPTIONAL_VARIANT), NUMBER,
                  "kernels and copies that a book counts, of a variant or of all"),
        Signature("cell", (Parameter("column", choices=NUMERIC), Parameter("level", choices=LEVELS), VARIANT,
                           Parameter("name", optional=True)), NUMBER,
                  "a cell of results.csv: of the one row of this level and variant, and (where given) of exactly this name"),
        Signature("wrapper_self_ns", (OPTIONAL_VARIANT,), NUMBER,
                  "ns of self CUDA time in key_averages.csv in rows that are neither a kernel nor a copy of the trace"),
        Signature("root", (), TRUTH, "whether any pass ran as root (run.json)"),
        Signature("counter_permission", (), TRUTH,
                  "whether any pass was allowed to read GPU counters: the driver allows all, or it had CAP_SYS_ADMIN"),
    )
}  # fmt: skip


class NotTested(Exception):
    """A value that this run cannot give, with the reason as a sentence."""


@dataclass
class Case:
    """One case of a run: its rows of results.csv and the folder of its captures.

    ``sources`` and ``remarks`` collect what the functions looked at and what is worth saying about it.
    """

    rows: list[dict[str, Any]]
    folder: Path
    sources: set[str] = field(default_factory=set)
    remarks: list[str] = field(default_factory=list)

    def call(self, name: str, arguments: dict[str, str | None]) -> float | bool:
        """A function's value.  Raises NotTested."""
        return FUNCTIONS[name](self, **arguments)

    def row(
        self, level: str, variant: str, matches: Callable[[dict], bool] = lambda row: True, what: str = ""
    ) -> dict:
        """The one row of a level and variant.  Raises NotTested where there are none or several."""
        own = [r for r in self.rows if (r["level"], r["variant"]) == (level, variant) and matches(r)]
        if len(own) != 1:
            count = "no row" if not own else f"{len(own)} rows"
            raise NotTested(f"results.csv has {count} for {level} {variant}{what}")
        return own[0]

    def value(self, row: dict, column: str) -> float:
        """A cell of a row that balanced.  Raises NotTested for an empty one and for a row that did not."""
        where = " ".join(dict.fromkeys([row["level"], row["variant"], row["name"][:60]]))
        if row["status"] != "verified":
            raise NotTested(
                f"the row {where} is {row['status']}" + (f": {row['reason']}" if row["reason"] else "")
            )
        if row[column] is None:
            raise NotTested(f"{column} of {where} is empty" + (f": {row['reason']}" if row["reason"] else ""))
        self.cite(row, column)
        return row[column]

    def cite(self, row: dict, column: str) -> None:
        """Note where a cell came from."""
        if column.startswith("event_"):
            self.sources.add(self.file("timing.json"))
        elif column.startswith("torch_"):
            self.sources.add(row["torch_source"])
        else:
            self.sources.add(row["nsys_source"])

    def file(self, name: str) -> str:
        """``file@hash``, as in the table's source columns.  Raises NotTested for a missing file."""
        path = self.folder / name
        if not path.is_file():
            raise NotTested(f"{name} is not there")
        return f"{name}@{sha256(path)[:12]}"

    def operations(self, variant: str | None) -> list[dict]:
        """Rows of kernels and copies.  Raises NotTested where there are none."""
        own = [
            r
            for r in self.rows
            if r["level"] in ("kernel", "memory")
            and variant in (None, r["variant"])
            and r["status"] != "not_applicable"  # a kernel that was announced, where there is no GPU
        ]
        if not own:
            of = "" if variant is None else f" of {variant}"
            reasons = {r["reason"] for r in self.rows if r["reason"] and variant in (None, r["variant"])}
            raise NotTested(
                f"no kernel or copy{of} was recorded" + "".join(f": {r}" for r in sorted(reasons)[:1])
            )
        return own


def block(case: Case, variant: str, book: str) -> float:
    column = "event_median_ns" if book == "events" else f"{book}_median_ns"
    return case.value(case.row("block", variant), column)


def chain(case: Case, variant: str, book: str) -> float:
    return case.value(case.row("chain", variant), f"{book}_median_ns")


def model_bytes(case: Case, variant: str) -> float:
    return case.value(case.row("chain", variant), "model_bytes")


def kernel(case: Case, variant: str, name: str, book: str) -> float:
    row = case.row("kernel", variant, lambda r: name in r["name"], f" with {name!r} in its name")
    return case.value(row, f"{book}_median_ns")


def rank(case: Case, variant: str, operator: str, book: str) -> int:
    totals = {id(r): case.value(r, f"{book}_total_ns") for r in case.operations(variant)}
    own = [totals[id(r)] for r in case.operations(variant) if operator in (r["operator"] or "").split(" | ")]
    if not own:
        raise NotTested(f"no kernel of {variant} was launched by {operator}")
    return 1 + sum(total > max(own) for total in totals.values())


def launches(case: Case, book: str, variant: str | None) -> int:
    return sum(case.value(r, f"{book}_count") for r in case.operations(variant))


def cell(case: Case, column: str, level: str, variant: str, name: str | None) -> float:
    what = "" if name is None else f" named {name!r}"
    return case.value(case.row(level, variant, lambda r: name in (None, r["name"]), what), column)


def wrapper_self_ns(case: Case, variant: str | None) -> int:
    """Sum over the plain table's rows that are no GPU operation; the rows are told as remarks."""
    total = 0
    for one in dict.fromkeys(r["variant"] for r in case.operations(variant) if r["variant"]):
        name = f"torch/{one}/key_averages.csv"
        case.sources.add(case.file(name))
        recorded = {r["name"] for r in case.operations(one) if r["torch_count"]}
        found = [
            (int(row["self_device_ns"]), row["name"])
            for row in key_averages(case.folder / name)
            if int(row["self_device_ns"]) and not {demangle(row["name"]), memory_name(row["name"])} & recorded
        ]
        total += sum(ns for ns, _ in found)
        told = ", ".join(
            f"{name[:60]} {ns / 1e6:.3f} ms" for ns, name in sorted(found, key=lambda f: (-f[0], f[1]))[:6]
        )
        case.remarks += [f"{one}: {told}"] if found else []
    return total


def key_averages(path: Path) -> Iterable[dict[str, str]]:
    """The rows by operator (not those by input shapes, which are the same again).  Raises NotTested."""
    rows = list(csv.DictReader(io.StringIO(path.read_text(errors="replace"))))
    if not rows or not {"grouping", "name", "self_device_ns"} <= set(rows[0]):
        raise NotTested(f"{path.name} is not a table of key_averages")
    if skipped := [row["name"] for row in rows if row["grouping"] == "skipped"]:
        raise NotTested(f"{path.name}: {skipped[0]}")
    plain = [row for row in rows if row["grouping"] == "plain"]
    if any(not (row["self_device_ns"] or "").lstrip("-").isdigit() for row in plain):
        raise NotTested(f"{path.name} has rows without self CUDA time")
    return plain


def privileges(case: Case) -> list[dict[str, Any]]:
    """What each pass recorded of its rights.  Raises NotTested where one did not."""
    found = []
    for path in sorted(case.folder.rglob("run.json")):
        name = path.relative_to(case.folder).as_posix()
        try:
            told = read_json(path, format=1).get("privileges")
        except EvidenceError as error:
            raise NotTested(f"{name}: {error.what}") from error
        if told is None:
            raise NotTested(
                "run.json does not say with which rights the passes ran (recorded before that was noted)"
            )
        case.sources.add(case.file(name))
        found.append(told)
    if not found:
        raise NotTested("there is no run.json")
    return found


def root(case: Case) -> bool:
    return any(told["euid"] == 0 for told in privileges(case))


def counter_permission(case: Case) -> bool:
    told = privileges(case)
    if any(one["profiling_admin_only"] is None or one["cap_sys_admin"] is None for one in told):
        raise NotTested("run.json does not say who may read GPU counters: the driver told nothing")
    return any(not one["profiling_admin_only"] or one["cap_sys_admin"] for one in told)


FUNCTIONS: dict[str, Callable[..., float | bool]] = {
    "block": block,
    "chain": chain,
    "bytes": model_bytes,
    "kernel": kernel,
    "rank": rank,
    "launches": launches,
    "cell": cell,
    "wrapper_self_ns": wrapper_self_ns,
    "root": root,
    "counter_permission": counter_permission,
}
