"""Nsight Systems: where it is, whether it imports, and whether it is new enough for driver and nvtx."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ..errors import MachineError
from ..isolation import isolated
from ..nsys.find import Nsys, find
from .compilers import told
from .finding import DEVICES, Line, good, missing, note, warning
from .packages import INSTALL

# Driver branch -> the nsys (year, number) that came with the CUDA toolkit of that branch, from its release notes.
# Measured: 2023.4.4 on driver 580 recorded 2 kernels of 939 and exited with 0; 2025.3.1 recorded all.
CAME_WITH = {525: (2022, 4), 530: (2023, 1), 535: (2023, 2), 545: (2023, 3), 550: (2023, 4), 555: (2024, 2),
             560: (2024, 4), 570: (2024, 6), 575: (2025, 1), 580: (2025, 3)}  # fmt: skip
LOSES_RANGES = (2023, 4)  # nvtx 0.2.12 and later lose every range under this nsys and older ones
FIRST_LOST_NVTX = (0, 2, 12)


def nsys_lines(
    configured: str | None, environ: Mapping[str, str], driver: str | None, nvtx: str | None
) -> Iterator[Line]:
    """nsys itself, against the driver and nvtx, and whether it can be kept apart from other processes."""
    try:
        nsys = find(configured, environ)
        nsys.require_importer()
    except MachineError as error:
        yield missing("nsys", told(error), error.next_step or "install Nsight Systems")
        yield from nvtx_lines(None, nvtx)
        return
    yield against_driver(nsys, driver)
    yield from nvtx_lines(nsys, nvtx)
    yield isolation_line(environ)


def against_driver(nsys: Nsys, driver: str | None) -> Line:
    found = f"{nsys.version_text} with its importer ({nsys.path})"
    branch = int(driver.split(".")[0]) if driver else 0
    due = max((version for known, version in CAME_WITH.items() if known <= branch), default=(0, 0))
    if nsys.version[:2] < due:
        advice = (
            f"it can lose kernels without a word: install nsys {due[0]}.{due[1]} or newer, or set nsys.path"
        )
        return warning("nsys", f"{found} is older than the driver {driver}", advice)
    return good("nsys", found)


def nvtx_lines(nsys: Nsys | None, nvtx: str | None) -> Iterator[Line]:
    if nvtx is None:
        yield missing("nvtx", "not installed", INSTALL, stops=DEVICES, make_installs=True)
    elif nsys and nsys.version[:2] <= LOSES_RANGES and numbers(nvtx) >= FIRST_LOST_NVTX:
        found = f"{nvtx}, of which nsys {nsys.version[0]}.{nsys.version[1]} loses every range"
        yield missing("nvtx", found, "pip install nvtx==0.2.11, or install a newer nsys")
    else:
        yield good("nvtx", nvtx)


def isolation_line(environ: Mapping[str, str]) -> Line:
    """Whether nsys can be kept from reading the environments of the user's other processes."""
    prefix, reason = isolated(environ)
    if prefix:
        return good("isolation", "nsys runs in a PID namespace and sees no environment but its own")
    advice = (
        "a report may hold secrets of your other processes, which fails the run: allow unprivileged user namespaces"
        " (sysctl kernel.unprivileged_userns_clone=1 or kernel.apparmor_restrict_unprivileged_userns=0; in a"
        " container --cap-add SYS_ADMIN), or start from a shell without them"
    )
    return warning("isolation", f"nsys cannot be kept apart: {reason}", advice)


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", version)[:3])


def counter_lines(perf_event_paranoid: str | None, admin_only: str | None) -> Iterator[Line]:
    """Permissions that other profilers ask for, so that nobody looks for the fault there."""
    unused = "not needed: only traces are recorded, no CPU samples and no counters"
    yield note("perf events", f"perf_event_paranoid is {perf_event_paranoid or 'not known'}; {unused}")
    told_of = {"0": "all users", "1": "administrators"}.get(admin_only or "", "not known who")
    yield note(
        "GPU counters", f"for {told_of} (NVreg_RestrictProfilingToAdminUsers={admin_only or '?'}); {unused}"
    )
