"""What nsys is told to record, and whether it did: many of its failures exit with status 0."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ..errors import LedgerError, MachineError, PassError
from ..process import Finished

CUDA_CAPTURE = (
    "--trace=cuda,nvtx",
    "--capture-range=cudaProfilerApi",
    "--capture-range-end=stop",
    "--cuda-graph-trace=node",
)
STOPPED_BY_RANGE_END = 143
CRASHED = (132, 134, 135, 136, 139)


def profile_command(nsys: Path, report: Path, command: Sequence[str], *, device: str) -> list[str]:
    """The command line that records exactly the announced iterations of ``command`` into ``report``.

    ``report``: path of the .nsys-rep, in a folder that exists and holds none.  On ``device`` "cuda" the
    child calls cudaProfilerStart and Stop; on "cpu" there is no such bound, and none is needed: the child
    opens no range but the announced ones.
    """
    return [
        str(nsys),
        "profile",
        *(CUDA_CAPTURE if device == "cuda" else ("--trace=nvtx",)),
        "--sample=none",
        "--cpuctxsw=none",
        "--output",
        str(report.with_suffix("")),
        *command,
    ]


def control_command(nsys: Path, report: Path, command: Sequence[str], *, device: str) -> list[str]:
    """The command line of the collision control: nsys around a process that must be alone, from its start."""
    trace = "--trace=cuda,nvtx" if device == "cuda" else "--trace=nvtx"
    options = ("--sample=none", "--cpuctxsw=none", "--output", str(report.with_suffix("")))
    return [str(nsys), "profile", trace, *options, *command]


def diagnose_recording(finished: Finished, report: Path, *, device: str) -> list[dict[str, str]]:
    """Warnings (source, text) of a recording that can be used.

    Raises PassError or MachineError, with cause and next step, where there is no report, where it has
    another name, or where the measured program failed.
    """
    status = finished.exit_status
    if finished.timed_out:
        raise _error("nsys ran past the time limit", report, finished, "raise `timeout_s` in config.yaml")
    if status in CRASHED:
        raise _error(f"the program crashed under nsys (status {status})", report, finished, _CRASH_STEP)
    if not report.is_file() or report.stat().st_size == 0:
        raise _no_report(finished, report, device)
    if status == STOPPED_BY_RANGE_END:
        text = "nsys ended the program at the end of the capture range (status 143); the report is whole"
        return [{"source": "nsys", "text": text}]
    if status != 0:
        raise _error(f"the program under nsys failed (status {status})", report, finished, "see its output")
    return [{"source": "nsys", "text": line} for line in _trouble(finished.output)]


_CRASH_STEP = "run the torch pass of this case: it tells whether the program or nsys is at fault"
_TROUBLE = re.compile(r"^(?:WARNING|ERROR|Warning|Errors?|Importer error|Failed)\b.*", re.MULTILINE)


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
        return _error(what, report, finished, "see its output")
    why = ": the capture range never began (cudaProfilerStart was not called)" if device == "cuda" else ""
    return _error(f"nsys wrote no report{why}", report, finished, "run it without nsys: did it end early?")


def _generated(output: str) -> str | None:
    """The file that nsys says it wrote, or None."""
    match = re.search(r"^Generated:\s*\n\s+(\S.*)$", output, re.MULTILINE)
    return match[1].strip() if match else None


def _error(what: str, report: Path, finished: Finished, next_step: str) -> PassError:
    return PassError(what, where=report, found=finished.last_lines() or "no output", next_step=next_step)
