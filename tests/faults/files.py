"""Files of a capture that were changed, lost or written by another version."""

from __future__ import annotations

import gzip

from .bench import Bench
from .fault import NOT_QUOTED, Fault, declare

FAULTS: list[Fault] = []
fault = declare(FAULTS)
RECORD = "torch/eager/run.json"


def changed_after(id: str, name: str, field: str, also: str = "") -> None:
    """Declare a fault in which a file of the capture is appended to after its pass."""
    says = (f"{name} was changed after its pass", "restore the file")
    check = fault(
        id, f"{name} is changed after its pass", field, "freshness", "fail", *says, row=NOT_QUOTED, also=also
    )

    def inject(bench: Bench) -> None:
        path = bench.case / name
        content = path.read_bytes()
        packed = name.endswith(".gz")
        path.write_bytes(gzip.compress(gzip.decompress(content), 1) if packed else content + b"\n")

    inject.__doc__ = "It is packed again, or a newline is appended to it; the record keeps the old hash."
    check(inject)


changed_after("trace-changed", "torch/copy/trace.json.gz", "Somebody opens and saves it.")
changed_after("csv-changed", "nsys/cuda_gpu_kern_sum.csv", "Somebody rounds the numbers in a spreadsheet.")
changed_after("report-changed", "nsys/report.nsys-rep", "The report of another run is copied over it.")
changed_after("table-for-people-changed", "torch/eager/key_averages.txt", "It is edited before it is quoted.")


@fault(
    "file-lost", "A file that a pass recorded is gone",
    "A clean-up script, a quota, an incomplete copy of the run.",
    "freshness", "fail", "torch/eager/key_averages.csv is missing", row=NOT_QUOTED,
)  # fmt: skip
def file_lost(bench: Bench) -> None:
    """key_averages.csv of torch/eager is removed."""
    (bench.case / "torch/eager/key_averages.csv").unlink()


@fault(
    "record-lost", "A pass left no record",
    "It was killed before its last step, and its files were moved into place by hand.",
    "freshness", "fail", "torch/eager/run.json: ", "missing", row=NOT_QUOTED,
    also="subscriber conservation export sameness clocks",
)  # fmt: skip
def record_lost(bench: Bench) -> None:
    """run.json of torch/eager is removed."""
    (bench.case / RECORD).unlink()


@fault(
    "foreign-format", "A record has a format of another version",
    "A newer version of this program wrote the capture.",
    "freshness", "fail", "another format", row=NOT_QUOTED, also="subscriber conservation export sameness clocks",
)  # fmt: skip
def foreign_format(bench: Bench) -> None:
    """run.json of torch/eager says format 99."""
    with bench.json(RECORD) as record:
        record["format"] = 99
