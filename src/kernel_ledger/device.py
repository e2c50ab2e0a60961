"""The GPU of a pass: taken for it alone, and looked at before, while and after it runs."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import MachineError
from .exclusive import free_gpu_lock, gpu_lock
from .gpu_choice import Choice
from .nvml import HARMFUL, Nvml
from .process import Finished
from .sampler import Sampler

ANY = Choice()


@dataclass(frozen=True)
class Device:
    """``identity``: what NVML says the GPU is, None with ``reason`` where it was not asked.
    ``descriptors``: of the lock, for the measured child to inherit; ``environment``: what hides the others from it."""

    identity: dict[str, Any] | None
    reason: str | None
    descriptors: tuple[int, ...] = ()
    nvml: Nvml | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

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
    device: str,
    environment: Mapping[str, str],
    holder: dict[str, str],
    nvml_library: Any = None,
    choice: Choice = ANY,
) -> Iterator[Device]:
    """Take a GPU of those that a process with this environment would see; on a CPU there is nothing to take."""
    if device != "cuda":
        yield Device(None, f"device is {device}")
        return
    nvml, gpus, reason = _identify(environment, nvml_library)
    if nvml is None:
        visible = environment.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
        key = "cuda-" + "".join(c for c in visible if c.isalnum() or c in "-_")
        with gpu_lock(key, holder=holder) as descriptor:
            yield Device(None, reason, (descriptor,))
        return
    with free_gpu_lock(choice.order(gpus), holder=holder) as (uuid, descriptor):
        identity = next(gpu for gpu in gpus if gpu["uuid"] == uuid)
        hidden = {"CUDA_VISIBLE_DEVICES": uuid} if len(gpus) > 1 else {}
        yield Device(identity, None, (descriptor,), nvml, hidden)


def _identify(
    environment: Mapping[str, str], library: Any
) -> tuple[Nvml | None, list[dict[str, Any]], str | None]:
    """NVML and the visible GPUs, or the reason why it cannot be asked."""
    if environment.get("CUDA_VISIBLE_DEVICES", "").startswith("MIG-"):
        return None, [], "NVML was not asked: the device is a MIG slice"
    try:
        nvml = Nvml(library)
    except MachineError as error:
        return None, [], str(error)
    try:
        return nvml, nvml.visible(environment), None
    except nvml.library.NVMLError as error:
        return None, [], f"NVML was asked and failed: {error}"


def _warn(sample: Mapping[str, Any]) -> None:
    """Say at once what will fail the check `clocks` later."""
    for process in sample["processes"] or ():
        text = f"warning: another process computes on the GPU: pid {process['pid']} ({process['name']})"
        print(text, file=sys.stderr)
    for reason in set(sample["throttle_reasons"]) & set(HARMFUL):
        print(f"warning: the GPU is throttled: {reason}", file=sys.stderr)
