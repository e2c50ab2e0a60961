"""run.json: what a pass was, what it ran on and what it wrote, put together after its process ended."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import __version__
from .errors import EvidenceError, PassError
from .files import read_json, sha256
from .privileges import privileges
from .process import Finished
from .request import announcements

FORMAT = 1  # 1: the first
ASKED = ("workload", "case", "parameters", "variants", "device", "seed", "warmup", "iterations")
TOLD = ("tf32", "workload_sha256", "probe", "announced", "output_sha256", "output_norms", "expectations")
FROM_NVML = ("memory_clock_khz", "memory_bus_bits")


def run_record(
    request: Mapping[str, Any],
    child: Mapping[str, Any],
    finished: Finished,
    *,
    identities: Sequence[Mapping[str, Any]],
    nvml: Mapping[str, Any] | None,
    nvml_reason: str | None,
    nsys_version: str | None = None,
    warnings: Sequence[Mapping[str, str]] = (),
) -> dict[str, Any]:
    """The record without its ``files``: what was asked, and what child and launcher know."""
    library = None if request["library"] is None else Path(request["library"])
    identity = identities[0] if identities else None
    return {
        "format": FORMAT,
        "pass": request["pass"],
        "command": list(finished.command),
        "exit_status": finished.exit_status,
        "seconds": round(finished.seconds, 3),
        **{key: request[key] for key in ASKED},
        "versions": {
            **child["versions"],
            "driver": identity["driver"] if identity else None,
            "nvcc": nvcc_version(library),
            "nsys": nsys_version,
        },
        "gpu": gpu(child["gpu"], identity),
        "privileges": privileges(),  # of the launcher, whose rights the measured process has
        "nvml": nvml,
        "nvml_reason": nvml_reason,
        "library_sha256": None if library is None else sha256(library),
        **{key: child[key] for key in TOLD},
        "ranks": ranks(child, identities, nvml),
        "warnings": [*child["warnings"], *warnings],
    }


def ranks(
    child: Mapping[str, Any], identities: Sequence[Mapping[str, Any]], nvml: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """What each rank told, with what NVML says of its GPU; none for a pass of one process."""
    sampled = (nvml or {}).get("gpus", [nvml])
    return [
        {
            **told,
            "gpu": gpu(told["gpu"], identities[number] if number < len(identities) else None) or told["gpu"],
            "nvml": sampled[number] if number < len(sampled) else None,
        }
        for number, told in enumerate(child.get("ranks", []))
    ]


def gpu(told: Mapping[str, Any] | None, identity: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What torch says of the GPU; what it does not tell is taken from NVML."""
    if told is None or identity is None:
        return None if told is None else dict(told)
    return {**told, **{key: identity[key] for key in FROM_NVML if told[key] is None}}


def nvcc_version(library: Path | None) -> str | None:
    """The nvcc that built the extension, from the build's own record beside it."""
    record = None if library is None else library.with_name("build.json")
    if record is None or not record.is_file():
        return None
    return read_json(record).get("versions", {}).get("nvcc")


def absent_record(request: Mapping[str, Any], reason: str) -> dict[str, Any]:
    """The record of a pass that could not be made on this machine."""
    asked = {key: request[key] for key in ASKED}
    return {"format": FORMAT, "pass": request["pass"], "absent": reason, **asked, "files": {}} | {
        "versions": {"kernel_ledger": __version__}
    }


def read_child(
    request: Mapping[str, Any], finished: Finished, folder: Path, *, judged: bool = False
) -> dict[str, Any]:
    """child.json, once exit status, arguments and announcements agree.  Raises PassError.

    ``judged``: the exit status was judged before (nsys may end the child with the capture range).
    """
    what = f"the {request['pass']} pass of {request['workload']}/{request['case']}"
    if finished.timed_out:
        raise PassError(
            f"{what} ran past its time limit and was ended after {finished.seconds:.0f} s",
            found=finished.last_lines() or "no output",
            next_step="raise measure.timeout_s in config.yaml, or measure a smaller case",
        )
    if finished.exit_status != 0 and not judged:
        raise PassError(
            f"{what} ended with exit status {finished.exit_status}",
            expected="exit status 0",
            found=finished.last_lines(30) or "no output",
            next_step="mend what the lines above name, then run snakemake again",
        )
    try:
        child = read_json(folder / "child.json", format=FORMAT)
    except EvidenceError as error:
        raise PassError(
            f"{what} ended without a result", found=f"{error}\n{finished.last_lines()}"
        ) from error
    differences = [
        f"{key} is {child['request'].get(key)!r}, {request.get(key)!r} was asked for"
        for key in sorted({*request, *child["request"]})
        if child["request"].get(key) != request.get(key)
    ]
    if child["announced"] != announcements(request):
        differences.append(f"it announced {child['announced']}, {announcements(request)} was asked for")
    for name in child["files"]:
        if not (folder / name).is_file() or not os.path.getsize(folder / name):
            differences.append(f"{name} is missing or empty")
    if differences:
        raise PassError(f"{what} did not do what it was asked", found="; ".join(differences))
    return child


def check_machine(
    child: Mapping[str, Any], entry: Mapping[str, Any], identities: Sequence[Mapping[str, Any]]
) -> None:
    """The workload is the planned one, the GPU of each process the locked one.  Raises PassError."""
    if child["workload_sha256"] != entry["source_sha256"]:
        raise PassError(
            "the workload file was changed after the plan was made",
            where=entry["file"],
            expected=entry["source_sha256"],
            found=child["workload_sha256"],
            next_step="run snakemake again, so that the plan is made anew",
        )
    size = entry.get("world_size")
    if size is not None and len(child["ranks"]) != size:
        raise PassError("other ranks than planned ran", expected=f"{size} ranks", found=len(child["ranks"]))
    used = [((told["gpu"] or {}).get("uuid")) for told in child.get("ranks") or [child]]
    for identity, uuid in zip(identities, used, strict=False):
        if uuid and uuid != identity["uuid"]:
            raise PassError(
                "the pass ran on another GPU than the one that was taken for it",
                expected=identity["uuid"],
                found=uuid,
                next_step=f"set CUDA_VISIBLE_DEVICES={','.join(i['uuid'] for i in identities)}",
            )
