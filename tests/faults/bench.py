"""Where a fault is injected: a healthy capture, ways to change it, and the rule's own script to judge it."""

from __future__ import annotations

import gzip
import json
import os
import runpy
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import capture_factory as factory

from kernel_ledger import process
from kernel_ledger.environment import allowed
from kernel_ledger.files import read_json, sha256
from kernel_ledger.nsys.database import read_sqlite
from kernel_ledger.nsys.stats import REPORTS, Stats, known_reports, run_report
from kernel_ledger.reconcile import read_table

ROOT = Path(__file__).parents[2]


class Bench:
    """A scenario that may be changed until the capture is first used; then the files themselves may be."""

    def __init__(self, root: Path) -> None:
        self.root, self.scenario, self.ruler = root, factory.tiny(), factory.ruler()
        self._written: Path | None = None

    @property
    def captures(self) -> Path:
        if self._written is None:
            self._written = factory.written(self.root, self.scenario, self.ruler)
        return self._written

    @property
    def case(self) -> Path:
        return self.captures / self.scenario.workload / self.scenario.case

    def change(self, variant: str, index: int, **fields: object) -> None:
        """Change one launch of every call, before the capture is written."""
        launches = list(self.scenario.variants[variant])
        launches[index] = replace(launches[index], **fields)
        self.scenario.variants[variant] = launches

    def tamper(self, book: str, change: Callable[[list], list]) -> None:
        """Let ``book`` record something else: ``change`` gets its calls and returns what it keeps."""
        self.scenario.tamper = lambda name, calls: change(calls) if name == book else calls

    @contextmanager
    def json(self, name: str) -> Iterator[dict]:
        """A JSON file of the case (or, as ``../../plan.json``, of the run), written back changed."""
        path = self.case / name
        value = json.loads(path.read_text())
        yield value
        path.write_text(json.dumps(value))
        self.rehash()

    @contextmanager
    def trace(self, variant: str) -> Iterator[dict]:
        path = self.case / "torch" / variant / "trace.json.gz"
        value = json.loads(gzip.decompress(path.read_bytes()))
        yield value
        factory.write_trace(path, value)
        self.rehash()

    def write(self, name: str, content: bytes) -> None:
        """Replace a file, with its hash: as if the tool itself had written this."""
        (self.case / name).write_bytes(content)
        self.rehash()

    def replace(self, name: str, old: str, new: str, count: int = 1) -> None:
        text = (self.case / name).read_text()
        assert old in text, f"{old!r} is not in {name}"
        self.write(name, text.replace(old, new, count).encode())

    def sql(self, *statements: str) -> None:
        """Change report.sqlite, and leave the CSVs as they are."""
        change_database(self.case / "nsys/report.sqlite", statements)
        self.rehash()

    def rehash(self) -> None:
        """Let every record know the files as they are now."""
        for path in self.case.rglob("run.json"):
            record = json.loads(path.read_text())
            record["files"] = {
                n: sha256(path.parent / n) for n in record["files"] if (path.parent / n).is_file()
            }
            path.write_text(json.dumps(record))
        path = self.case / "nsys/export.json"
        export = json.loads(path.read_text())
        export["sqlite"]["sha256"] = sha256(self.case / "nsys/report.sqlite")
        export["report_sha256"] = sha256(self.case / "nsys/report.nsys-rep")
        for name, report in export["reports"].items():
            report["sha256"] = sha256(self.case / "nsys" / name)
        path.write_text(json.dumps(export))

    def stats(
        self, csv: str, nsys: Path, *statements: str, known: dict | None = None, before: tuple = ()
    ) -> None:
        """Export one CSV anew, by this nsys, from a copy of report.sqlite changed by ``statements``.

        ``known``: reports that the tool is believed to have; ``before``: (file, text) laid beside the copy.
        """
        work = self.root / "work"
        work.mkdir()
        sqlite = Path(shutil.copy(self.case / "nsys/report.sqlite", work / "report.sqlite"))
        change_database(sqlite, statements)
        for name, text in before:
            (work / name).write_text(text)
        environment = allowed(os.environ)
        if known is None:
            listed = process.run([nsys, "stats", "--help-reports"], environment=environment, timeout_s=60)
            known = known_reports(listed.output)
        stats = Stats(nsys, environment, work / "log.txt", 60, known)
        (report,) = [r for r in REPORTS if r.csv == csv]
        outcome = run_report(stats, report, sqlite, read_sqlite(sqlite).kernels, "cuda")
        self.write(f"nsys/{csv}", (work / csv).read_bytes())
        with self.json("nsys/export.json") as export:
            export["reports"][csv] = outcome

    def reconciled(self) -> tuple[list[dict], dict]:
        """Rows and verdict, by the rule's script in this process."""
        output = self.root / "out"
        arguments = ["--plan", self.captures / "plan.json", "--captures", self.captures, "--output", output]
        run_script("reconcile", *arguments)
        return read_table(output / "results.csv"), read_json(output / "verdict.json")


def run_script(name: str, *arguments: object) -> None:
    """A script of a rule, as Snakemake calls it, without the start of another Python."""
    path, before = ROOT / "scripts" / f"{name}.py", sys.argv
    sys.argv = [str(path), *map(str, arguments)]
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as done:
        assert done.code in (0, None), f"{name} ended with {done.code}"
    finally:
        sys.argv = before


def change_database(path: Path, statements: tuple[str, ...]) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def events(trace: dict, *categories: str) -> list[dict]:
    """The events of a trace of these categories, in the order of time."""
    found = [e for e in trace["traceEvents"] if e.get("cat") in categories]
    return sorted(found, key=lambda e: e["ts"])


def without(trace: dict, dropped: list[dict]) -> None:
    """Take events out of a trace."""
    kept = {id(e) for e in dropped}
    trace["traceEvents"] = [e for e in trace["traceEvents"] if id(e) not in kept]
