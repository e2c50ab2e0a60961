"""The parent of one pass: request in, measured process, agreement checked, record and files published.

The measured process gets an allow-listed environment and the GPU to itself.  It writes into a partial
folder beside the results; nothing gets its final name before everything was checked, run.json last.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from . import leaks, process
from .commit import commit
from .device import ANY, Device, taken
from .environment import allowed, exposed, secrets
from .errors import MachineError
from .files import read_json, sha256, write_json
from .gpu_choice import Choice, choose
from .isolation import isolated
from .nsys.find import Nsys, find
from .nsys.record import diagnose_recording, profile_command
from .partial import partial_folder, publish_files, publish_folder
from .ranks.command import child_command, group_environment
from .ranks.naming import ranked
from .repeats import Step, position
from .request import PASSES, build_request, plan_case
from .run_record import absent_record, check_machine, read_child, run_record
from .scratch import scratch

REPORT = "report.nsys-rep"
LOG = "log.txt"
OF_NUMERICS = ("numerics.json", "dataflow.json")  # the record of the timing pass vouches for them, too


@dataclass(frozen=True)
class Job:
    """One pass to run.  ``output``: the folder of its repeat, ``reports/<run>/captures/<workload>/<case>`` for
    the first.  ``variant``: of the torch pass, which runs one; the others run all."""

    pass_name: str
    plan_path: Path
    workload: str
    case: str
    library: Path | None
    output: Path
    variant: str | None = None
    repeat: int = 1

    @property
    def label(self) -> str:
        return self.pass_name if self.variant is None else f"{self.pass_name}-{self.variant}"

    @property
    def title(self) -> str:
        again = f"repeat {self.repeat}" if self.repeat > 1 else None
        return " ".join(filter(None, [self.pass_name, f"{self.workload}/{self.case}", self.variant, again]))

    @property
    def captures(self) -> Path:
        """``reports/<run>/captures``; the plan may lie elsewhere."""
        return (self.output.parent if self.repeat > 1 else self.output).resolve().parents[1]

    @property
    def run(self) -> str:
        return self.captures.parent.name

    def order(self, plan: Mapping[str, Any], entry: Mapping[str, Any]) -> int | None:
        """Its planned place among the processes of its case, from 1; None for numerics, which has none."""
        if self.pass_name == "numerics":
            return None
        step = Step(self.pass_name, self.variant, self.repeat)
        return position(plan.get("passes", PASSES), entry["variants"], step)


def launch(job: Job) -> None:
    """Run a pass to its end.  Raises a LedgerError, and then leaves the results as they were."""
    plan = read_json(job.plan_path, format=1)
    entry = plan_case(plan, job.workload, job.case)
    with process.terminating_raises(), partial_folder(job.output, job.label) as partial:
        variants = entry["variants"] if job.variant is None else [job.variant]
        request = build_request(
            plan, entry, job.pass_name, variants=variants, library=job.library, output=partial
        )
        write_json(partial / "request.json", request)
        say(f"{job.title} ...")
        started = time.monotonic()
        environment = child_environment(plan)
        nsys = None
        if job.pass_name == "nsys":
            try:
                nsys = find(plan["nsys"]["path"], os.environ)
                nsys.require_importer()
            except MachineError as error:
                if plan["device"] != "cpu":
                    raise
                say(f"{job.title}: left out: {error}")
                publish(job, partial, absent_record(request, str(error).splitlines()[0]), [])
                return
        holder = {"command": job.title, "run": job.run}
        first = job.pass_name == "numerics"
        choice = choose(plan, entry, captures=job.captures, first=first, environ=os.environ)
        environment |= group_environment(request, environment)
        with place(plan, environment, holder, nsys, choice) as (device, environment):
            record, names = measure(job, plan, entry, request, partial, environment, device, nsys)
        if job.pass_name == "timing":  # the history reads it there
            record["commit"] = commit(Path.cwd(), os.environ)
        publish(job, partial, record, names)
        say(f"{job.title}: {time.monotonic() - started:.1f} s")


@contextmanager
def place(
    plan: Mapping[str, Any],
    environment: dict[str, str],
    holder: dict[str, str],
    nsys: Nsys | None,
    choice: Choice = ANY,
) -> Iterator[tuple[Device, dict[str, str]]]:
    """A GPU for one process alone, and that process's environment.

    nsys keeps a register of its sessions in TMPDIR, by process id: in a PID namespace that is always 1, so a
    folder of its own keeps one recording from being refused for the session of another.
    """
    with (
        scratch() as own,
        taken(plan["device"], environment, holder, choice=choice) as device,
    ):
        yield device, {**environment, **device.environment} | ({"TMPDIR": str(own)} if nsys else {})


def isolated_nsys(
    profile: list[str], environment: Mapping[str, str], title: str
) -> tuple[list[str], list[dict[str, str]]]:
    """The command line of nsys where it sees no other process; warnings where that cannot be done."""
    prefix, reason = isolated(environment)
    if reason is None:
        return [*prefix, *profile], []
    say(f"{title}: the report may hold the environments of your other processes: {reason}")
    return profile, [{"source": "isolation", "text": f"nsys could see other processes: {reason}"}]


def child_environment(plan: Mapping[str, Any]) -> dict[str, str]:
    """The measured process's environment, with folders of ours for HOME and compiled kernels."""
    build = Path("build") / plan["device"]
    home = build / "home"
    home.mkdir(parents=True, exist_ok=True)
    return allowed(os.environ, plan["environment"], home=home, cache=build / "cache")


def measure(
    job: Job,
    plan: Mapping[str, Any],
    entry: Mapping[str, Any],
    request: Mapping[str, Any],
    partial: Path,
    environment: Mapping[str, str],
    device: Device,
    nsys: Nsys | None,
) -> tuple[dict[str, Any], list[str]]:
    """Run the child; its record without ``files``, and the names of the files that it left."""
    command, warnings, names = child_command(request, partial / "request.json"), [], []
    if nsys is not None:
        profile = profile_command(nsys.path, partial / REPORT, command, device=plan["device"])
        command, warnings = isolated_nsys(profile, environment, job.title)
    started = datetime.now(UTC).isoformat(timespec="milliseconds")
    finished, nvml = device.watch(
        lambda: process.run(
            command,
            environment=environment,
            log=partial / LOG,
            timeout_s=plan["timeout_s"],
            pass_fds=device.descriptors,
            echo=True,
        )
    )
    if nsys is not None:
        warnings += diagnose_recording(finished, partial / REPORT, device=plan["device"])
        warnings += exposed(os.environ, plan["environment"])
        names = [REPORT]
    child = read_child(request, finished, partial, judged=nsys is not None)
    check_machine(child, entry, device.identities)
    record = run_record(
        request,
        child,
        finished,
        identities=device.identities,
        nvml=nvml,
        nvml_reason=device.reason,
        nsys_version=nsys.version_text if nsys else None,
        warnings=warnings,
    )
    found = leaks.search(partial, secrets(os.environ, plan), plan["environment"])
    leaks.warn(job.output, found)
    record |= {"environment": sorted(environment), "leaks": leaks.as_json(found)}
    record |= {"repeat": job.repeat, "order": job.order(plan, entry), "started": started}
    return record, [*child["files"], *names]


def publish(job: Job, partial: Path, record: dict[str, Any], names: list[str]) -> None:
    """Write run.json over the files and give everything its final name."""
    if job.pass_name in ("numerics", "timing"):
        for name in names:
            payload = read_json(partial / name, format=1)
            write_json(partial / name, {"format": 1, "run": record, **payload})
    if job.pass_name == "numerics":
        publish_files(partial, job.output, names)
        return
    record["files"] = {name: sha256(partial / name) for name in names}
    if job.pass_name == "timing":
        of_ranks = [ranked(OF_NUMERICS[0], told["rank"]) for told in record["ranks"][1:]]
        earlier = [name for name in (*OF_NUMERICS, *of_ranks) if (job.output / name).is_file()]
        record["files"] |= {name: sha256(job.output / name) for name in earlier}
        write_json(partial / "run.json", record)
        publish_files(partial, job.output, [*names, "run.json"])
        return
    if (partial / LOG).is_file():
        record["files"][LOG] = sha256(partial / LOG)
    write_json(partial / "run.json", record)
    for name in ("request.json", "child.json"):
        (partial / name).unlink(missing_ok=True)
    publish_folder(partial, job.output / job.pass_name / (job.variant or ""))


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
