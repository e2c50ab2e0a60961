"""CSVs of `nsys stats` whose contents cannot be true, or are not what the records say."""

from __future__ import annotations

from .bench import Bench
from .fault import NOT_QUOTED, Fault, declare
from .nsys_stats import BY_KERNEL, BY_RANGE, KERNELS, RANGES

FAULTS: list[Fault] = []
fault = declare(FAULTS)


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
    "export", "fail", f"{BY_RANGE} says 20 x 120000 ns", "report.sqlite 10 x", row=NOT_QUOTED,
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
