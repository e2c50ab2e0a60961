"""The collision control: a torch pass run under nsys on purpose.  It must notice, and measure nothing.

torch.profiler beside nsys ends with exit status 0 and a normal-looking table without a kernel.  That clean passes
would have noticed is shown here once in a run, on the machine and with the versions of the run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import process
from .errors import PassError
from .files import read_json, write_json
from .gpu_choice import Choice
from .launch import LOG, REPORT, child_environment, isolated_nsys, place, say
from .nsys.find import find
from .nsys.record import control_command
from .partial import partial_folder
from .process import Finished
from .ranks.command import child_command, group_environment
from .request import PROBE, build_request, plan_case

FORMAT = 1  # 1: the first
TAKEN = 39
TABLES = ("trace.json.gz", "key_averages.txt", "key_averages.csv", "child.json")
SAID_LINES = 15


def run_control(
    plan_path: Path, workload: str, case: str, variant: str, library: Path | None, output: Path
) -> dict[str, Any]:
    """Run the torch pass of one variant under nsys; writes and returns what came of it.

    A collision that goes unnoticed is a result, not an error: the check `subscriber` judges it.  Raises
    MachineError where nsys cannot be started.
    """
    plan = read_json(plan_path, format=1)
    entry = plan_case(plan, workload, case)
    title = f"collision_control {workload}/{case} {variant}"
    with partial_folder(output.parent, "collision-control") as partial:
        request = build_request(plan, entry, "torch", variants=[variant], library=library, output=partial)
        write_json(partial / "request.json", request)
        say(f"{title} ...")
        started = time.monotonic()
        nsys = find(plan["nsys"]["path"], os.environ)
        holder = {"command": title, "run": plan_path.resolve().parents[1].name}
        environment = child_environment(plan)
        environment |= group_environment(request, environment)
        choice = Choice(count=entry.get("world_size") or 1)
        with place(plan, environment, holder, nsys, choice) as (device, environment):
            profile = control_command(
                nsys.path,
                partial / REPORT,
                child_command(request, partial / "request.json"),
                device=plan["device"],
            )
            command, warnings = isolated_nsys(profile, environment, title)
            finished = process.run(
                command,
                environment=environment,
                log=partial / LOG,
                timeout_s=plan["timeout_s"],
                pass_fds=device.descriptors,
            )
        identity = device.identity or {}
        record = {
            "format": FORMAT,
            **judged(finished, partial),
            "workload": workload,
            "case": case,
            "variant": variant,
            "device": plan["device"],
            "command": list(finished.command),
            "exit_status": finished.exit_status,
            "seconds": round(finished.seconds, 3),
            "said": said(finished.output),
            "versions": {"nsys": nsys.version_text, "driver": identity.get("driver")},
            "gpu": {"uuid": identity["uuid"]} if identity else None,
            "warnings": warnings,
        }
        write_json(output, record)
        say(f"{title}: {outcome(record)} ({time.monotonic() - started:.1f} s)")
    return record


def judged(finished: Finished, folder: Path) -> dict[str, Any]:
    """Whether the pass noticed nsys and measured nothing; ``detected`` is None where it did not get so far.

    ``detected_by``: "cupti" (cuptiSubscribe gave 39) and "injection" (nsys's variables); ``files``: what was left.
    """
    files = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    probe = read_json(folder / PROBE) if PROBE in files else None
    by, reason = noticed(probe or {}), None
    tables = [name for name in TABLES if name in files]
    if tables:
        detected, reason = False, f"the pass did not notice nsys around it, and left {', '.join(tables)}"
    elif by and finished.exit_status == PassError.exit_status:
        detected = True
    elif by:
        detected, reason = False, f"the pass noticed nsys, and ended with status {finished.exit_status}"
    else:
        detected = None
        ended = "ran past its time limit" if finished.timed_out else f"status {finished.exit_status}"
        reason = f"the pass ended before it looked for another profiler ({ended})"
    return {"detected": detected, "detected_by": by, "reason": reason, "probe": probe, "files": files}


def noticed(probe: Mapping[str, Any]) -> list[str]:
    """By what a probe noticed another profiler."""
    by = ["cupti"] if probe.get("result") == TAKEN else []
    return [*by, "injection"] if probe.get("injection") else by


def said(output: str) -> str:
    """The end of what was printed, without nsys's progress bars."""
    return "\n".join([line for line in output.splitlines() if not line.startswith("[")][-SAID_LINES:])


def outcome(record: Mapping[str, Any]) -> str:
    """What came of it, in a few words."""
    if record["detected"]:
        return f"the collision was noticed ({' and '.join(record['detected_by'])})"
    return record["reason"]
