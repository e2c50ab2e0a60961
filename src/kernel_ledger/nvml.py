"""What NVML says of a GPU: identity, clocks, power, temperature, throttle reasons, other processes.

NVML is optional.  Where it is absent the caller gets the reason, never a zero.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import MachineError

# nvml.h, nvmlClocksEventReason*; an idle GPU is not throttled, so gpu_idle is left out
REASONS = {
    0x2: "applications_clocks_setting",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
}
GPU_IDLE = 0x1
# these make a pass not worth quoting.  sw_power_cap is noted only: a large GEMM meets it on a healthy GPU
HARMFUL = ("hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")
SETTLE_S = 2.0


class Nvml:
    """An initialised NVML library.  Raises MachineError, whose text is the reason, where there is none."""

    def __init__(self, library: Any = None) -> None:
        if library is None:
            try:
                import pynvml as library
            except ImportError:
                raise MachineError("NVML was not asked: the package nvidia-ml-py is not installed") from None
        self.library = library
        try:
            library.nvmlInit()
        except library.NVMLError as error:
            raise MachineError(f"NVML was not asked: {error}") from error

    def optional(self, function: str, *arguments: Any) -> Any:
        """A value of NVML, or None where this GPU or driver does not tell it."""
        try:
            return getattr(self.library, function)(*arguments)
        except (AttributeError, self.library.NVMLError):
            return None

    def gpus(self) -> list[dict[str, Any]]:
        """The GPUs in PCI bus order: index, uuid, name, driver, memory_bytes, memory bus and clock."""
        return [self._identity(index) for index in range(self.library.nvmlDeviceGetCount())]

    def _identity(self, index: int) -> dict[str, Any]:
        handle = self.library.nvmlDeviceGetHandleByIndex(index)
        memory = self.optional("nvmlDeviceGetMemoryInfo", handle)
        clock = self.optional("nvmlDeviceGetMaxClockInfo", handle, self.library.NVML_CLOCK_MEM)
        return {
            "index": index,
            "uuid": _text(self.library.nvmlDeviceGetUUID(handle)),
            "name": _text(self.optional("nvmlDeviceGetName", handle)),
            "driver": _text(self.optional("nvmlSystemGetDriverVersion")),
            "memory_bytes": memory.total if memory else None,
            "memory_clock_khz": clock * 1000 if clock else None,
            "memory_bus_bits": self.optional("nvmlDeviceGetMemoryBusWidth", handle),
        }

    def visible(self, environ: Mapping[str, str]) -> list[dict[str, Any]]:
        """The GPUs that a process with this environment sees, in its order.  Raises MachineError for none."""
        gpus = self.gpus()
        chosen = environ.get("CUDA_VISIBLE_DEVICES")
        if chosen is None and gpus:
            return gpus
        found = []
        for word in (chosen or "0").split(","):
            match = [g for g in gpus if is_meant(word.strip(), g)]
            if not match:
                break  # as CUDA does: what follows a device that is not there is not seen
            found += match[:1]
        if found:
            return found
        raise MachineError(
            "the GPU to measure on is not one that NVML shows",
            expected=", ".join(f"{gpu['index']} ({gpu['uuid']})" for gpu in gpus) or "at least one GPU",
            found=f"CUDA_VISIBLE_DEVICES={chosen}",
            next_step="set CUDA_VISIBLE_DEVICES to one of these indices or UUIDs",
        )

    def sample(self, uuid: str) -> dict[str, Any]:
        """Clocks (MHz), power (W), temperature (Celsius) and throttle reasons of this moment."""
        library = self.library
        handle = library.nvmlDeviceGetHandleByUUID(uuid)
        milliwatts = self.optional("nvmlDeviceGetPowerUsage", handle)
        bits = self.optional("nvmlDeviceGetCurrentClocksEventReasons", handle)
        if bits is None:
            bits = self.optional("nvmlDeviceGetCurrentClocksThrottleReasons", handle)
        return {
            "sm_mhz": self.optional("nvmlDeviceGetClockInfo", handle, library.NVML_CLOCK_SM),
            "memory_mhz": self.optional("nvmlDeviceGetClockInfo", handle, library.NVML_CLOCK_MEM),
            "power_w": None if milliwatts is None else milliwatts / 1000,
            "temperature_c": self.optional("nvmlDeviceGetTemperature", handle, library.NVML_TEMPERATURE_GPU),
            "idle": None if bits is None else bool(bits & GPU_IDLE),
            "throttle_reasons": ["not_told"] if bits is None else reason_names(bits),
        }

    def look(self, uuid: str, settle_s: float = SETTLE_S) -> dict[str, Any]:
        """A sample and the compute processes on the GPU that are not ours.

        A process that just ended stays listed for a moment, so a finding is looked at again until
        ``settle_s`` seconds have passed.  Call it while no child of ours uses the GPU.
        """
        deadline = time.monotonic() + settle_s
        while (found := self.processes(uuid)) and time.monotonic() < deadline:
            time.sleep(0.1)
        return {**self.sample(uuid), "processes": found, "memory_used_mib": self.memory_used_mib(uuid)}

    def memory_used_mib(self, uuid: str) -> float | None:
        """Memory that processes hold, without what the driver keeps for itself; None where not told."""
        version = getattr(self.library, "nvmlMemory_v2", None)  # in version 1 the two are one number
        if version is None:
            return None
        handle = self.library.nvmlDeviceGetHandleByUUID(uuid)
        memory = self.optional("nvmlDeviceGetMemoryInfo", handle, version)
        return None if memory is None else round(memory.used / (1 << 20), 1)

    def processes(self, uuid: str) -> list[dict[str, Any]] | None:
        """Compute processes on a GPU, clients of MPS too, as pid and name (None where unknown), this process left
        out; None: not told."""
        handle = self.library.nvmlDeviceGetHandleByUUID(uuid)
        running = self.optional("nvmlDeviceGetComputeRunningProcesses", handle)
        if running is None:
            return None
        shared = self.optional("nvmlDeviceGetMPSComputeRunningProcesses", handle) or []
        others = sorted({process.pid for process in (*running, *shared)} - {os.getpid()})
        return [{"pid": pid, "name": self._process_name(pid)} for pid in others]

    def _process_name(self, pid: int) -> str | None:
        # the last part only: a whole path may name a user
        told = _text(self.optional("nvmlSystemGetProcessName", pid))
        return Path(told).name if told else None


def reason_names(bits: int) -> list[str]:
    """Throttle reasons by name; a bit that this version does not know is ``unknown_0x…``."""
    names = [name for bit, name in REASONS.items() if bits & bit]
    rest = bits & ~(GPU_IDLE | sum(REASONS))
    return names + ([f"unknown_{rest:#x}"] if rest else [])


def is_meant(word: str, gpu: Mapping[str, Any]) -> bool:
    """Whether a word of CUDA_VISIBLE_DEVICES, an index or the start of a UUID, means this GPU."""
    return word == str(gpu["index"]) or (word.startswith("GPU-") and gpu["uuid"].startswith(word))


def _text(value: Any) -> str | None:
    return value.decode() if isinstance(value, bytes) else value
