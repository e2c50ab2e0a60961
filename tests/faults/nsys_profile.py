"""Faults of `nsys profile` that leave no report, or another one than was asked for."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nsys_tool

from kernel_ledger import process
from kernel_ledger.environment import allowed
from kernel_ledger.nsys.record import diagnose_recording, profile_command

from .bench import Bench
from .fault import Fault, declare

FAULTS: list[Fault] = []
fault = declare(FAULTS)


def recorded(
    nsys: Path, report: Path, program: str = "pass", *, device: str = "cpu", timeout_s: float = 60
) -> str:
    """Record a Python program and diagnose the recording, as the nsys pass does; its warnings as text."""
    command = profile_command(nsys, report, [sys.executable, "-c", program], device=device)
    done = process.run(command, environment=allowed(os.environ), timeout_s=timeout_s)
    try:
        return "; ".join(w["text"] for w in diagnose_recording(done, report, device=device))
    finally:
        for line in map(str.strip, done.output.splitlines()):  # what nsys wrote elsewhere
            if line.endswith(".nsys-rep") and Path(line) != report:
                Path(line).unlink(missing_ok=True)


@fault(
    "report-name-taken", "The report is written under another name because the first exists",
    "\"Failed to create …: File exists\", a report in the temporary folder, exit status 0; the old one is read.",
    "error", "PassError", "under the name asked for", "File exists", "the other file is not used",
)  # fmt: skip
def report_name_taken(bench: Bench) -> None:
    """The real nsys profile writes to a name under which an empty file lies."""
    report = bench.root / "report.nsys-rep"
    report.write_bytes(b"")
    recorded(nsys_tool.real_nsys(), report)


@fault(
    "report-folder-missing", "The report is written elsewhere because its folder does not exist",
    "\"Failed to create …: No such file or directory\", a report in the temporary folder, exit status 0.",
    "error", "PassError", "under the name asked for", "No such file or directory",
)  # fmt: skip
def report_folder_missing(bench: Bench) -> None:
    """The real nsys profile writes into a folder that is not there."""
    recorded(nsys_tool.real_nsys(), bench.root / "missing" / "report.nsys-rep")


@fault(
    "range-never-began", "There is no report because the capture range never began",
    "cudaProfilerStart was not reached, or another CUDA runtime was asked; exit status 0.",
    "error", "PassError", "the capture range never began", "run it without nsys",
)  # fmt: skip
def range_never_began(bench: Bench) -> None:
    """The real nsys profile waits for cudaProfilerStart of a program that does not call it."""
    recorded(nsys_tool.real_nsys(), bench.root / "report.nsys-rep", device="cuda")


@fault(
    "program-crashed", "The program crashes under nsys",
    "Status 139, and a report that can be opened: with the kernels up to the crash.",
    "error", "PassError", "crashed under nsys (status 139)", "run the torch pass of this case",
)  # fmt: skip
def program_crashed(bench: Bench) -> None:
    """The real nsys profile runs a program that kills itself with signal 11."""
    recorded(nsys_tool.real_nsys(), bench.root / "report.nsys-rep", "import os; os.kill(os.getpid(), 11)")


@fault(
    "program-failed", "The program fails under nsys, which writes a good report",
    "An exception in the last iteration; nsys passes the status on, wrappers often do not.",
    "error", "PassError", "the program under nsys failed (status 3)", "see its output",
)  # fmt: skip
def program_failed(bench: Bench) -> None:
    """The real nsys profile runs a program that ends with status 3."""
    recorded(nsys_tool.real_nsys(), bench.root / "report.nsys-rep", "raise SystemExit(3)")


@fault(
    "program-hangs", "nsys does not end",
    "A deadlock in the injected library, or a program that waits for input.",
    "error", "PassError", "ran past the time limit", "timeout_s",
)  # fmt: skip
def program_hangs(bench: Bench) -> None:
    """The real nsys profile runs a program that sleeps for a minute; the limit is one second."""
    report = bench.root / "report.nsys-rep"
    recorded(nsys_tool.real_nsys(), report, "import time; time.sleep(60)", timeout_s=1)


@fault(
    "only-a-qdstrm", "nsys leaves only a .qdstrm",
    "The importer is not installed (the container has the target part alone), or its libraries are missing.",
    "error", "MachineError", "left only a raw recording (.qdstrm)", "install the whole Nsight Systems",
)  # fmt: skip
def only_a_qdstrm(bench: Bench) -> None:
    """A scripted nsys writes report.qdstrm, complains of its importer, and exits with 0."""
    body = """
output = sys.argv[sys.argv.index('--output') + 1]
open(output + '.qdstrm', 'w').write('raw')
print('Importer error status: Importer was not found')
"""
    recorded(nsys_tool.script(bench.root / "nsys", body), bench.root / "report.nsys-rep", device="cuda")


@fault(
    "stopped-by-its-range", "nsys exits with 143, and the report is good",
    "With --capture-range-end=stop nsys may end the program at cudaProfilerStop: SIGTERM, status 143.",
    "none", "harmless", "status 143", "the report is whole",
)  # fmt: skip
def stopped_by_its_range(bench: Bench) -> str:
    """A scripted nsys writes a report and ends with status 143: a warning, and the counts decide."""
    body = "open(sys.argv[sys.argv.index('--output') + 1] + '.nsys-rep', 'w').write('good')\nsys.exit(143)\n"
    return recorded(
        nsys_tool.script(bench.root / "nsys", body), bench.root / "report.nsys-rep", device="cuda"
    )
