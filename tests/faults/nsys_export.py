"""Faults of the export: of another recording, by another version, or of a file that is none."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import capture_factory as factory
import nsys_tool

from kernel_ledger import process
from kernel_ledger.environment import allowed
from kernel_ledger.nsys.database import read_sqlite
from kernel_ledger.nsys.export import export
from kernel_ledger.nsys.find import find
from kernel_ledger.nsys.record import profile_command
from kernel_ledger.nsys.tables import COLUMNS, read_stats_csv

from .bench import Bench
from .fault import NOT_QUOTED, Fault, declare
from .nsys_stats import RANGES

FAULTS: list[Fault] = []
fault = declare(FAULTS)


@fault(
    "foreign-export", "The export belongs to another report",
    "nsys stats uses a newer SQLite file that lies beside a report, without a word, whoever made it.",
    "export", "fail", "another report than the one that the nsys pass recorded", row=NOT_QUOTED,
)  # fmt: skip
def foreign_export(bench: Bench) -> None:
    """export.json names the hash of another .nsys-rep."""
    path = bench.case / "nsys/export.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "report_sha256": "99" * 32}))


@fault(
    "foreign-sqlite", "The SQLite file is of another run, the CSVs are of this one",
    "The same, where the file is put there later, with its hash.",
    "export", "fail", "report.sqlite 10 x 125000 ns", row=NOT_QUOTED,
)  # fmt: skip
def foreign_sqlite(bench: Bench) -> None:
    """report.sqlite is written from launches of 125 us, all CSVs from launches of 120 us."""
    bench.captures  # noqa: B018 (written before the scenario changes)
    bench.change("eager", 1, ns=125_000)
    factory.write_sqlite(bench.case / "nsys/report.sqlite", bench.scenario)
    bench.rehash()


@fault(
    "other-exporter", "Another version exported than the one that recorded",
    "Two nsys on one machine (toolkit and package); their demangling and reports differ.",
    "export", "fail", "recorded with nsys 2025.3.1, exported with 2025.5.1", row=NOT_QUOTED,
)  # fmt: skip
def other_exporter(bench: Bench) -> None:
    """export.json names nsys 2025.5.1."""
    with bench.json("nsys/export.json") as value:
        value["nsys"]["version"] = "2025.5.1"


@fault(
    "no-sqlite", "report.sqlite is no database",
    "A truncated copy, or a Git LFS pointer in its place.",
    "structure", "fail", "not a readable SQLite export", row=("kernel", "eager", "Mul", "unknown"),
    also="conservation identity agreement",
)  # fmt: skip
def no_sqlite(bench: Bench) -> None:
    """report.sqlite is replaced by text."""
    bench.write("nsys/report.sqlite", b"version https://git-lfs.github.com/spec/v1\n" * 40)


@fault(
    "never-exported", "The recording was not exported",
    "The export was killed.",
    "export", "fail", "nsys/export.json: ", "missing", row=NOT_QUOTED,
)  # fmt: skip
def never_exported(bench: Bench) -> None:
    """export.json is removed."""
    (bench.case / "nsys/export.json").unlink()


def recording(folder: Path, ranges: int = 3) -> Path:
    """A real report of some NVTX ranges on the CPU."""
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / "report.nsys-rep"
    program = f"import nvtx\nfor _ in range({ranges}):\n  with nvtx.annotate('w/eager', domain='kernel_ledger'): pass"
    command = profile_command(nsys_tool.real_nsys(), report, [sys.executable, "-c", program], device="cpu")
    done = process.run(command, environment=allowed(os.environ), timeout_s=60)
    assert report.is_file(), done.output
    return report


def exported(folder: Path, **changes: object) -> None:
    nsys = replace(find(str(nsys_tool.real_nsys()), os.environ), **changes)
    export(folder, nsys, device="cpu", recorder_version="2023.4.4.54-234433681190v0",
           environment=allowed(os.environ), timeout_s=60)  # fmt: skip


@fault(
    "newer-sqlite-beside-the-report", "A newer SQLite file of another run lies beside the report",
    "nsys stats takes it in place of the report, without a word; so does an old CSV stay.",
    "none", "harmless", "3 instances",
)  # fmt: skip
def newer_sqlite(bench: Bench) -> str:
    """Beside a real report of 3 ranges lie the SQLite file of one of 5 ranges and a foreign CSV; it is exported."""
    report, other = recording(bench.root / "a"), recording(bench.root / "b", 5)
    exported(other.parent)
    assert len(read_sqlite(other.parent / "report.sqlite").ranges) == 5
    for name in ("report.sqlite", RANGES):
        (report.parent / name).write_bytes((other.parent / name).read_bytes())
    exported(report.parent)
    (row,) = read_stats_csv(report.parent / RANGES, COLUMNS[RANGES])
    return f"{row['Instances']} instances"


@fault(
    "truncated-report", "The .nsys-rep is truncated",
    "\"Exportation error\", exit status 0, empty CSVs.",
    "error", "EvidenceError", "truncated or damaged", "run the nsys pass again",
)  # fmt: skip
def truncated_report(bench: Bench) -> None:
    """A real report is cut to 20,000 bytes, and exported."""
    report = recording(bench.root / "a")
    report.write_bytes(report.read_bytes()[:20_000])
    exported(report.parent)


@fault(
    "older-exporter", "The nsys that exports is older than the one that recorded",
    "nsys opens only reports of its own version or older; the text of its error names neither.",
    "error", "MachineError", "older than the one that recorded", "nsys.path",
)  # fmt: skip
def older_exporter(bench: Bench) -> None:
    """A report recorded by 2023.4.4 is to be exported by 2022.4."""
    (bench.root / "report.nsys-rep").write_bytes(b"a report")
    exported(bench.root, version=(2022, 4, 2, 1), version_text="2022.4.2.1")


@fault(
    "host-part-missing", "The nsys that is there has no reports",
    "Only the target part of Nsight Systems is installed: `nsys stats` knows nothing.",
    "error", "MachineError", "lists no reports", "install it whole",
)  # fmt: skip
def host_part_missing(bench: Bench) -> None:
    """An nsys that prints nothing and exits with 0 is to export."""
    (bench.root / "report.nsys-rep").write_bytes(b"a report")
    exported(bench.root, path=Path("/bin/true"))
