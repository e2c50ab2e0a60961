"""Exports one recording: SQLite and the CSVs of `nsys stats`, each made in a fresh folder and checked.

nsys silently uses an older CSV or a foreign SQLite file that lies beside a report; in a folder made for
this export there is none.  `nsys stats` reads the SQLite file that was just made, not the report again.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from .. import leaks, process
from ..credentials import Needle
from ..errors import EvidenceError, MachineError
from ..files import publish, sha256, write_json, write_text
from ..limits import SQLITE_PER_REPORT, Limits
from ..progress import progress
from .database import read_sqlite
from .find import Nsys, parse_version
from .rows import NsysBook
from .stats import REPORTS, Stats, known_reports
from .sums import make_report

FORMAT = 1
REPORT, SQLITE, LOG, RECORD = "report.nsys-rep", "report.sqlite", "export-log.txt", "export.json"
PREFIX = ".export-"
DEFAULTS = Limits()
AGAIN = "run the nsys pass again"
SERIOUS = ("Warning", "Error")


def export(
    folder: Path,
    nsys: Nsys,
    *,
    device: str,
    recorder_version: str | None,
    environment: Mapping[str, str],
    timeout_s: float,
    limits: Limits = DEFAULTS,
    secrets: Sequence[Needle] = (),
    allowed_names: Iterable[str] = (),
) -> dict[str, Any]:
    """Export ``folder``/report.nsys-rep into ``folder``; returns what export.json then holds.

    A CSV that fails is recorded with its reason and does not stop the others.  ``recorder_version``: what
    `nsys --version` said in the nsys pass.  ``limits``: what may grow how far, and who computes the slow reports.
    ``secrets``: what must not stand in any file of ``folder``;
    ``allowed_names``: variables that the configuration lets through.  What is found becomes ``leaks`` and a
    loud warning; the files stay.  Raises MachineError for an nsys older than that, EvidenceError
    where the recording cannot be read, LedgerError where its export would be too large.
    """
    report = folder / REPORT
    if not report.is_file():
        raise EvidenceError("there is no recording to export", where=report, next_step=AGAIN)
    (folder / RECORD).unlink(missing_ok=True)  # it must not vouch for files that come after it
    limits.check_disk(
        report.stat().st_size * SQLITE_PER_REPORT, folder, "the SQLite export of this recording"
    )
    warnings = _version_warnings(nsys, recorder_version)
    for left in folder.glob(f"{PREFIX}*"):  # of an export that was killed
        shutil.rmtree(left)
    work = Path(tempfile.mkdtemp(prefix=PREFIX, dir=folder))
    try:
        _link(report, work / REPORT)
        known = _known_reports(nsys, environment, timeout_s)
        stats = Stats(nsys.path, environment, work / LOG, timeout_s, known)
        book = _export_sqlite(stats, work)
        limits.check_events(_events(book), report)
        reports = {}
        with progress("nsys stats", len(REPORTS), "report") as bar:
            for report_of in REPORTS:
                made = make_report(stats, report_of, work / SQLITE, book.kernels, device, limits)
                reports[report_of.csv] = made
                bar.update()
        record = {
            "format": FORMAT,
            "nsys": {"path": str(nsys.path), "version": nsys.version_text},
            "report_sha256": sha256(report),
            "reports": reports,
            "sqlite": {
                "sha256": sha256(work / SQLITE),
                "exporter_version": book.exporter_version,
                "recorder_version": recorder_version,
            },
            "warnings": [{"source": "nsys", "text": text} for text in warnings],
            "diagnostics": [
                {"severity": d.severity, "source": d.source, "text": d.text}
                for d in book.diagnostics or ()
                if d.severity in SERIOUS
            ],
        }
        _tidy(work / LOG)
        for name in (SQLITE, *record["reports"], LOG):
            publish(work / name, folder / name)
    except EvidenceError:
        with suppress(FileNotFoundError):  # the log says more than the error
            publish(work / LOG, folder / LOG)
        raise
    finally:
        shutil.rmtree(work)
    found = leaks.search(folder, secrets, allowed_names)
    leaks.warn(folder, found)
    record |= {"leaks": leaks.as_json(found), "environment": list(allowed_names)}
    write_json(folder / RECORD, record)
    return record


def export_nothing(folder: Path, reason: str) -> None:
    """The files of an export where there was no nsys pass: empty, and the reason in export.json."""
    (folder / RECORD).unlink(missing_ok=True)
    for name in (SQLITE, *(r.csv for r in REPORTS)):
        write_text(folder / name, "")
    write_text(folder / LOG, f"not exported: {reason}\n")
    write_json(folder / RECORD, {"format": FORMAT, "absent": reason})


def _version_warnings(nsys: Nsys, recorder_version: str | None) -> list[str]:
    """What to say of an exporter that is not the recorder.  Raises MachineError for an older one."""
    if recorder_version == nsys.version_text:
        return []
    recorder = parse_version(f"Nsight Systems version {recorder_version}")
    if recorder is None:
        return [f"the version that recorded is not known; exported with {nsys.version_text}"]
    if nsys.version < recorder[0]:
        raise MachineError(
            "this nsys is older than the one that recorded: it cannot open the report",
            where=nsys.path,
            expected=f"version {recorder_version}",
            found=f"version {nsys.version_text}",
            next_step="set nsys.path in config.yaml to the nsys that recorded",
        )
    return [f"recorded with nsys {recorder_version}, exported with {nsys.version_text}"]


def _link(source: Path, target: Path) -> None:
    """The same file under another name; a copy where the file system has no links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _known_reports(
    nsys: Nsys, environment: Mapping[str, str], timeout_s: float
) -> dict[str, tuple[str, ...]]:
    command = [nsys.path, "stats", "--help-reports"]
    known = known_reports(process.run(command, environment=environment, timeout_s=timeout_s).output)
    if not known:
        raise MachineError(
            "this nsys lists no reports of its stats command",
            where=nsys.path,
            next_step="the reports belong to the host part of Nsight Systems: install it whole",
        )
    return known


def _export_sqlite(stats: Stats, work: Path) -> NsysBook:
    """Run `nsys export`, and read the result back.  Raises EvidenceError where it is not of this report."""
    command = [stats.nsys, "export", "--type=sqlite", "--quiet=true", f"--output={SQLITE}", REPORT]
    finished = process.run(
        command, environment=stats.environment, log=stats.log, timeout_s=stats.timeout_s, cwd=work
    )
    said = re.search(r"(Exportation error|ERROR|Error): .*", finished.output)
    if finished.timed_out or finished.exit_status != 0 or said or not (work / SQLITE).is_file():
        raise EvidenceError(
            "nsys cannot export this recording: it is truncated or damaged, or of a newer version",
            where=work.parent / REPORT,
            found=said[0] if said else finished.last_lines(3) or f"exit status {finished.exit_status}",
            next_step=AGAIN,
        )
    book = read_sqlite(work / SQLITE)
    source = book.export.get("EXPORT_PARAM_INPUT_FILE", "")
    if Path(source).name != REPORT:
        raise EvidenceError(
            "this SQLite file was exported from another report",
            where=work / SQLITE,
            expected=REPORT,
            found=source or "no name of a report",
            next_step="run the export again",
        )
    return book


def _events(book: NsysBook) -> int:
    """All that the recording holds of GPU work, API calls and ranges."""
    parts = (book.kernels, book.memory, book.ranges)
    return sum(len(part or ()) for part in parts) + sum((book.calls or {}).values())


def _tidy(log: Path) -> None:
    """Keep the last state of each progress bar, as a terminal would show it."""
    lines = log.read_bytes().replace(b"\r\n", b"\n").split(b"\n")
    log.write_bytes(b"\n".join(line.rstrip(b"\r").rsplit(b"\r", 1)[-1] for line in lines))
