"""Faults of `nsys stats` and `nsys export`, made by the real tool where it can be made to fail so."""

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
from kernel_ledger.nsys.export import export
from kernel_ledger.nsys.find import find
from kernel_ledger.nsys.record import profile_command
from kernel_ledger.nsys.tables import COLUMNS, read_stats_csv

from .bench import Bench
from .fault import NOT_QUOTED, Fault, declare

FAULTS: list[Fault] = []
fault = declare(FAULTS)
KERNELS, BY_RANGE = "cuda_gpu_kern_sum.csv", "cuda_gpu_kern_sum_by_range.csv"
PROJECTED, BY_KERNEL, RANGES = "nvtx_gpu_proj_sum.csv", "nvtx_kern_sum.csv", "nvtx_sum.csv"
ANEW = "export anew"
NO_KERNELS = ("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL", "DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME")


@fault(
    "stats-skipped", "nsys stats skips a report: no CUDA kernel data",
    "\"SKIPPED: … does not contain CUDA kernel data\", a CSV of 0 bytes, exit status 0 (2022.4 to 2025.3).",
    "export", "fail", f"{KERNELS} failed: SKIPPED", "does not contain CUDA kernel data", ANEW, row=NOT_QUOTED,
)  # fmt: skip
def stats_skipped(bench: Bench) -> None:
    """The real nsys stats runs on a SQLite file without the kernel table."""
    bench.stats(KERNELS, nsys_tool.real_nsys(), *NO_KERNELS)


@fault(
    "stats-internal-error", "A report of nsys stats fails inside",
    "A column that the report's SQL needs is not in this version's export: an error text, 0 bytes, exit status 0.",
    "export", "fail", f"{BY_KERNEL} failed: ERROR", "internal error", ANEW, row=NOT_QUOTED,
)  # fmt: skip
def stats_internal_error(bench: Bench) -> None:
    """The real nsys stats runs on a SQLite file in which two columns of NVTX_EVENTS have other names."""
    renamed = [
        f"ALTER TABLE NVTX_EVENTS RENAME COLUMN {name} TO {name}_" for name in ("color", "endGlobalTid")
    ]
    bench.stats(BY_KERNEL, nsys_tool.real_nsys(), *renamed)


@fault(
    "stats-unknown-report", "nsys stats does not know a report's name",
    "Report names changed in 2023 (gpukernsum, cuda_gpu_kern_sum): a message on stderr, exit status 0, no file.",
    "export", "fail", f"{PROJECTED} failed: ERROR: Report 'nvtx_gpu_proj_sum' could not be found", row=NOT_QUOTED,
)  # fmt: skip
def stats_unknown_report(bench: Bench) -> None:
    """The real nsys 2022.4 is asked for a report of 2023, as if its own list had named it."""
    bench.stats(PROJECTED, nsys_tool.real_nsys("2022"), known={"nvtx_gpu_proj_sum": ()})


@fault(
    "stats-report-not-offered", "This nsys has no summary by range",
    "nsys 2022 cannot split kernels by range: the GEMMs of all variants are one row.",
    "export", "fail", f"{BY_RANGE} failed", "a newer nsys has", row=NOT_QUOTED,
)  # fmt: skip
def stats_report_not_offered(bench: Bench) -> None:
    """The real nsys 2022.4 exports; its own list of reports lacks the argument nvtx-name."""
    bench.stats(BY_RANGE, nsys_tool.real_nsys("2022"))


@fault(
    "stats-old-csv-kept", "nsys stats keeps an old CSV because it exists",
    "Without --force-overwrite the old file stays, with a message and exit status 0: yesterday's numbers.",
    "export", "fail", f"{RANGES} failed", "exists", ANEW, row=NOT_QUOTED,
)  # fmt: skip
def stats_old_csv(bench: Bench) -> None:
    """A CSV of another run lies under the name that the real nsys stats is to write."""
    old = (bench.case / "nsys" / RANGES).read_text()
    bench.stats(RANGES, nsys_tool.real_nsys(), before=[("stats_nvtx_sum_nvtx_sum.csv", old)])


def hostile_name(bench: Bench, symbol: str) -> None:
    bench.change("eager", 1, symbol=symbol)
    bench.stats(BY_RANGE, nsys_tool.real_nsys())


@fault(
    "name-with-a-quote", "A kernel's name has an inner quote",
    "nsys stats does not escape names (all versions tried): the row is no CSV, and lenient readers shift its columns.",
    "export", "fail", f"{BY_RANGE} failed", "not valid CSV", row=("kernel", "eager", 'x"y,z', "unknown"),
)  # fmt: skip
def name_with_a_quote(bench: Bench) -> None:
    """eager's mul is named `x"y,z` in both books; the real nsys stats writes the CSV."""
    hostile_name(bench, 'x"y,z')


@fault(
    "name-with-a-newline", "A kernel's name has a line break",
    "The same: one row becomes two lines, the second of which begins with half a name.",
    "export", "fail", f"{BY_RANGE} failed", "not valid CSV", row=("kernel", "eager", "x\ny", "unknown"),
)  # fmt: skip
def name_with_a_newline(bench: Bench) -> None:
    """eager's mul is named `x`, line break, `y` in both books; the real nsys stats writes the CSV."""
    hostile_name(bench, "x\ny")


@fault(
    "mangled-fell-back", ":mangled falls back to demangled names, of all kernels",
    "A recording without mangled names (older recorders): the tool prints demangled ones and says nothing.",
    "export", "fail", ":mangled fell back", "no mangled names", row=NOT_QUOTED,
)  # fmt: skip
def mangled_fell_back(bench: Bench) -> None:
    """The real nsys stats runs on a SQLite file without the column mangledName."""
    drop = "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN mangledName"
    bench.stats(BY_RANGE, nsys_tool.real_nsys(), drop)


@fault(
    "mangled-fell-back-once", ":mangled falls back for one kernel",
    "Kernels of a library without symbols: nsys has no mangled name for them and prints another.",
    "export", "fail", ":mangled fell back: 1 names are no symbols", row=NOT_QUOTED,
)  # fmt: skip
def mangled_fell_back_once(bench: Bench) -> None:
    """A scripted nsys writes one demangled name among the symbols."""
    text = (bench.case / "nsys" / BY_RANGE).read_text().replace(factory.FUSED, "fused_chain_vector(float *)")
    bench.stats(BY_RANGE, scripted(bench, text), known={"cuda_gpu_kern_sum": ("nvtx-name", "mangled")})


def scripted(
    bench: Bench, csv: str, says: str = "Processing [r] with [x.py] to [a.csv]... PROCESSED"
) -> Path:
    body = f"""
report, output = (sys.argv[sys.argv.index(o) + 1] for o in ('--report', '--output'))
open(output + '_x.csv', 'w').write({csv!r})
print({says!r})
"""
    return nsys_tool.script(bench.root / "nsys-tool" / "nsys", body)


@fault(
    "stats-without-success", "A CSV is written, and the tool does not say so",
    "A killed or full-disk run of nsys stats: the rows that are there look well.",
    "export", "fail", f"{RANGES} failed", "no success line", row=NOT_QUOTED,
)  # fmt: skip
def stats_without_success(bench: Bench) -> None:
    """A scripted nsys writes a good CSV, prints one line of progress and exits with 0."""
    good = (bench.case / "nsys" / RANGES).read_text()
    bench.stats(RANGES, scripted(bench, good, "Processing ..."), known={"nvtx_sum": ()})


@fault(
    "negative-time", "A kernel's time in a CSV is negative",
    "Seen where clocks are corrected after the fact; a sum hides it.",
    "export", "fail", "is negative", row=NOT_QUOTED,
)  # fmt: skip
def negative_time(bench: Bench) -> None:
    """Min of eager's mul in cuda_gpu_kern_sum_by_range.csv gets a minus sign."""
    bench.replace(f"nsys/{BY_RANGE}", "120000.0,120000,120000", "120000.0,-120000,120000")


@fault(
    "negative-time-elsewhere", "A kernel's time is negative in a CSV that no row is computed from",
    "The same; people quote these tables too.",
    "export", "fail", f"nsys/{BY_KERNEL}: ", "is negative", row=NOT_QUOTED,
)  # fmt: skip
def negative_time_elsewhere(bench: Bench) -> None:
    """A median in nvtx_kern_sum.csv gets a minus sign."""
    bench.replace(f"nsys/{BY_KERNEL}", "120000.0,120000,120000", "-120000.0,120000,120000")


@fault(
    "reversed-time", "A kernel's least time in a CSV is greater than its greatest",
    "A column is shifted, or start and end are exchanged.",
    "export", "fail", "is reversed", "Min 120001 > Max 120000", row=NOT_QUOTED,
)  # fmt: skip
def reversed_time(bench: Bench) -> None:
    """Min of eager's mul in cuda_gpu_kern_sum_by_range.csv is one above Max."""
    bench.replace(f"nsys/{BY_RANGE}", "120000.0,120000,120000", "120000.0,120001,120000")


@fault(
    "counted-for-each-range", "A kernel is counted once for each enclosing range",
    "A join of kernels to all ranges around their launch: nested ranges double the counts.",
    "export", "fail", f"{BY_RANGE} says 20 x 120000 ns", "report.sqlite 10 x", row=("kernel", "eager", "Mul", "disagree"),
    also="conservation",
)  # fmt: skip
def counted_for_each_range(bench: Bench) -> None:
    """eager's mul in cuda_gpu_kern_sum_by_range.csv has 20 instances and twice the time; the records have 10."""
    bench.replace(f"nsys/{BY_RANGE}", "1200000,10,120000.0", "2400000,20,120000.0")


@fault(
    "counted-twice-in-a-range", "nvtx_kern_sum counts a kernel twice in its range",
    "The same, in the table that people read for \"kernels of a range\".",
    "export", "fail", f"{BY_KERNEL} counts 40 kernels", "report.sqlite 30", row=NOT_QUOTED,
)  # fmt: skip
def counted_twice(bench: Bench) -> None:
    """The row of eager's mul stands twice in nvtx_kern_sum.csv."""
    path = bench.case / "nsys" / BY_KERNEL
    lines = path.read_text().splitlines(keepends=True)
    bench.write(f"nsys/{BY_KERNEL}", "".join([*lines, lines[2]]).encode())


@fault(
    "row-lost", "A kernel's row is missing from cuda_gpu_kern_sum.csv",
    "`--limit`, a filter, or a file that was cut.",
    "export", "fail", f"{KERNELS} counts", row=NOT_QUOTED,
)  # fmt: skip
def row_lost(bench: Bench) -> None:
    """The last row of cuda_gpu_kern_sum.csv is taken out."""
    lines = (bench.case / "nsys" / KERNELS).read_text().splitlines(keepends=True)
    bench.write(f"nsys/{KERNELS}", "".join(lines[:-1]).encode())


@fault(
    "empty-csv", "A CSV is empty although the record of the export says that it is good",
    "A crash between writing and syncing, on some file systems.",
    "export", "fail", "this CSV is empty", row=NOT_QUOTED,
)  # fmt: skip
def empty_csv(bench: Bench) -> None:
    """nvtx_kern_sum.csv has 0 bytes, with a matching hash."""
    bench.write(f"nsys/{BY_KERNEL}", b"")


@fault(
    "other-columns", "A CSV has other columns",
    "Columns were renamed and moved between 2022, 2023 and 2025; readers by number take the wrong one.",
    "export", "fail", "this CSV has other columns", row=NOT_QUOTED,
)  # fmt: skip
def other_columns(bench: Bench) -> None:
    """The header of nvtx_sum.csv says Count for Instances."""
    bench.replace(f"nsys/{RANGES}", "Instances", "Count")


@fault(
    "text-for-a-number", "A number in a CSV has a thousands separator",
    "A locale, or `--format` with units.",
    "export", "fail", "is not a number", row=NOT_QUOTED,
)  # fmt: skip
def text_for_a_number(bench: Bench) -> None:
    """Total Time of eager's mul is written as "1,200,000"."""
    bench.replace(f"nsys/{KERNELS}", ",1200000,", ',"1,200,000",')


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
    from kernel_ledger.nsys.database import read_sqlite

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
