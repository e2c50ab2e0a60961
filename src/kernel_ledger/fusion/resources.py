"""What the trace says of one launch's use of the GPU."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, prod
from typing import Any

REGISTERS_A_UNIT = 256  # allocated to a warp at a time, compute capability 3.0 and later
MOST_BLOCKS = 32  # resident on a multiprocessor; some GPUs allow fewer


def occupancy(launch: Mapping[str, Any]) -> int | None:
    """Kineto's estimate in %, None where it has none."""
    value = launch.get("est. achieved occupancy %")
    return None if value is None else int(value)


def resident_blocks(launch: Mapping[str, Any], device: Mapping[str, Any]) -> int | None:
    """Blocks of this launch that fit on one multiprocessor by threads, registers and shared memory; None if unknown."""
    try:
        threads, warp = prod(map(int, launch["block"])), int(device["warpSize"])
        warps = ceil(threads / warp)
        registers = (
            ceil(int(launch["registers per thread"]) * warp / REGISTERS_A_UNIT) * REGISTERS_A_UNIT * warps
        )
        limits = [int(device["maxThreadsPerMultiprocessor"]) // threads, MOST_BLOCKS]
        if registers:
            limits.append(int(device["regsPerMultiprocessor"]) // registers)
        if shared := int(launch["shared memory"]):
            limits.append(int(device["sharedMemPerMultiprocessor"]) // shared)
    except (KeyError, ZeroDivisionError):
        return None
    return min(limits) or None


def waves(launch: Mapping[str, Any], device: Mapping[str, Any]) -> float | None:
    """How often the grid fills the GPU; below 1 some of it idles all the time."""
    resident, units = resident_blocks(launch, device), int(device.get("numSms") or 0)
    if not resident or not units or not launch.get("grid"):
        return None
    return round(prod(map(int, launch["grid"])) / (resident * units), 2)
