"""Faults of `nsys stats`, made by the real tool where it can be made to fail so."""

from __future__ import annotations

from pathlib import Path

import capture_factory as factory
import nsys_tool

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
