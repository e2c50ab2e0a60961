"""What nsys is told to record, and whether it did: many of its failures exit with status 0."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ..errors import LedgerError, MachineError, PassError
from ..process import Finished

DOMAIN = "kernel_ledger"
CAPTURE_RANGE = "capture"
"""On a machine without CUDA: the range, in our domain, whose first begin and end bound the recording."""

STOPPED_BY_RANGE_END = 143
CRASHED = (132, 134, 135, 136, 139)
LOST_DOMAIN_VERSION = "nvtx 0.2.12 and later record no range at all under nsys 2023.4 and older; 0.2.11 does"


def profile_command(nsys: Path, report: Path, command: Sequence[str], *, device: str) -> list[str]:
    """The command line that records exactly the announced iterations of ``command`` into ``report``.

    ``report``: path of the .nsys-rep, in a folder that exists and holds none.  On ``device`` "cuda" the
    child calls cudaProfilerStart and Stop; on "cpu" it opens and closes the range ``capture`` in our domain.
    """
    return [
        str(nsys),
        "profile",
        *(_cuda_capture() if device == "cuda" else _nvtx_capture()),
        "--capture-range-end=stop",
        "--sample=none",
        "--cpuctxsw=none",
        "--output",
        str(report.with_suffix("")),
        *command,
    ]


def _cuda_capture() -> list[str]:
    return ["--trace=cuda,nvtx", "--capture-range=cudaProfilerApi", "--cuda-graph-trace=node"]


def _nvtx_capture() -> list[str]:
    return ["--trace=nvtx", "--capture-range=nvtx", f"--nvtx-capture={CAPTURE_RANGE}@{DOMAIN}"]


def diagnose_recording(finished: Finished, report: Path, *, device: str) -> list[dict[str, str]]:
    """Warnings (source, text) of a recording that can be used.

    Raises PassError or MachineError, with cause and next step, where there is no report, where it has
    another name, or where the measured program failed.
    """
    status = finished.exit_status
    if finished.timed_out:
        raise _error("nsys and the program under it ran past the time limit", report, finished, "raise `timeout_s`")
    if status in CRASHED:
        raise _error(f"the program crashed under nsys (status {status})", report, finished, _CRASH_STEP)
    if not report.is_file() or report.stat().st_size == 0:
        raise _no_report(finished, report, device)
    if status == STOPPED_BY_RANGE_END:
        text = "nsys ended the program at the end of the capture range (status 143); the report is whole"
        return [{"source": "nsys", "text": text}]
    if status != 0:
        raise _error(f"the program under nsys failed (status {status})", report, finished, "see its output above")
    return [{"source": "nsys", "text": line} for line in _trouble(finished.output)]


_CRASH_STEP = "run the case without nsys (the torch pass) to see whether the program or the profiler is at fault"
_TROUBLE = re.compile(r"^(?:WARNING|ERROR|Warning|Error|Errors occurred|Importer error|Failed)\b.*", re.MULTILINE)


def _trouble(output: str) -> list[str]:
    """Lines in which nsys complains although it exits with 0; each once."""
    return list(dict.fromkeys(line.strip() for line in _TROUBLE.findall(output)))


def _no_report(finished: Finished, report: Path, device: str) -> LedgerError:
    if match := re.search(r"Failed to create '([^']*)': (.*)", finished.output):
        found = f"{match[2]}; written instead: {_generated(finished.output) or 'nothing'}"
        return PassError(
            "nsys could not write the report under the name asked for",
            where=report,
            expected="a folder that exists, without a report of this name",
            found=found,
            next_step="remove what is in the way and run the pass again; the other file is not used",
        )
    raw = [*report.parent.glob("*.qdstrm"), *re.findall(r"(\S+\.qdstrm)$", _generated(finished.output) or "")]
    if raw or "Importer error" in finished.output:
        return MachineError(
            "nsys left only a raw recording (.qdstrm): its importer is missing or does not run",
            where=report,
            found=" ".join(re.findall(r"Importer error.*", finished.output)) or str(raw[0]),
            next_step="install the whole Nsight Systems (QdstrmImporter in host-linux-x64), or set nsys.path",
        )
    if finished.exit_status not in (0, STOPPED_BY_RANGE_END):
        what = f"the program under nsys failed (status {finished.exit_status}) before anything was recorded"
        return _error(what, report, finished, "see its output above")
    begin = "cudaProfilerStart was never called" if device == "cuda" else f"no range {CAPTURE_RANGE}@{DOMAIN} began"
    step = "run the case without nsys: did it end early?" if device == "cuda" else LOST_DOMAIN_VERSION
    return _error(f"nsys wrote no report: the capture range never began ({begin})", report, finished, step)


def _generated(output: str) -> str | None:
    """The file that nsys says it wrote, or None."""
    match = re.search(r"^Generated:\s*\n\s+(\S.*)$", output, re.MULTILINE)
    return match[1].strip() if match else None


def _error(what: str, report: Path, finished: Finished, next_step: str) -> PassError:
    return PassError(what, where=report, found=finished.last_lines() or "no output", next_step=next_step)
