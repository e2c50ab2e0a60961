"""The GPU of a pass: taken for it alone, and looked at before, while and after it runs."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import MachineError
from .exclusive import gpu_lock
from .nvml import HARMFUL, Nvml
from .process import Finished
from .sampler import Sampler


@dataclass(frozen=True)
class Device:
    """``identity``: what NVML says the GPU is, None with ``reason`` where it was not asked.
    ``descriptors``: of the lock, for the measured child to inherit."""

    identity: dict[str, Any] | None
    reason: str | None
    descriptors: tuple[int, ...] = ()
    nvml: Nvml | None = None

    def watch(self, run: Callable[[], Finished]) -> tuple[Finished, dict[str, Any] | None]:
        """Run a child and sample the GPU around it; samples are None where NVML was not asked."""
        if self.nvml is None:
            return run(), None
        uuid = self.identity["uuid"]
        before = self._look(uuid)
        _warn(before)
        with Sampler(self.nvml, uuid) as sampler:
            finished = run()
        return finished, {"before": before, "after": self._look(uuid), **sampler.summary()}

    def _look(self, uuid: str) -> dict[str, Any]:
        """A look, or why there was none: a pass that was measured is not lost for it, and the check says so."""
        try:
            return self.nvml.look(uuid)
        except self.nvml.library.NVMLError as error:
            return {"failure": str(error), "throttle_reasons": [], "processes": None}


@contextlib.contextmanager
def taken(
    device: str, environment: Mapping[str, str], holder: dict[str, str], nvml_library: Any = None
) -> Iterator[Device]:
    """Take the GPU that a process with this environment would use; on a CPU there is nothing to take."""
    if device != "cuda":
        yield Device(None, f"device is {device}")
        return
    nvml, identity, reason = _identify(environment, nvml_library)
    visible = environment.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    key = identity["uuid"] if identity else "cuda-" + "".join(c for c in visible if c.isalnum() or c in "-_")
    with gpu_lock(key, holder=holder) as descriptor:
        yield Device(identity, reason, (descriptor,), nvml)


def _identify(
    environment: Mapping[str, str], library: Any
) -> tuple[Nvml | None, dict[str, Any] | None, str | None]:
    """NVML and the GPU, or the reason why it cannot be asked."""
    if environment.get("CUDA_VISIBLE_DEVICES", "").startswith("MIG-"):
        return None, None, "NVML was not asked: the device is a MIG slice"
    try:
        nvml = Nvml(library)
    except MachineError as error:
        return None, None, str(error)
    try:
        return nvml, nvml.first_visible(environment), None
    except nvml.library.NVMLError as error:
        return None, None, f"NVML was asked and failed: {error}"


def _warn(sample: Mapping[str, Any]) -> None:
    """Say at once what will fail the check `clocks` later."""
    for process in sample["processes"] or ():
        text = f"warning: another process computes on the GPU: pid {process['pid']} ({process['name']})"
        print(text, file=sys.stderr)
    for reason in set(sample["throttle_reasons"]) & set(HARMFUL):
        print(f"warning: the GPU is throttled: {reason}", file=sys.stderr)
