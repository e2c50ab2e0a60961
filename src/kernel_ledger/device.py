"""The GPU of a pass: taken for it alone, and looked at before, while and after it runs."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    ``descriptors``: of the lock, for the measured child to inherit; ``environment``: what hides the others from it.
    ``others``: the identities of the further GPUs of a group, by rank."""

    identity: dict[str, Any] | None
    reason: str | None
    descriptors: tuple[int, ...] = ()
    nvml: Nvml | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    others: tuple[dict[str, Any], ...] = ()

    @property
    def identities(self) -> tuple[dict[str, Any], ...]:
        """Of the GPU, or of each rank's; none where NVML was not asked."""
        return () if self.identity is None else (self.identity, *self.others)

    def watch(self, run: Callable[[], Finished]) -> tuple[Finished, dict[str, Any] | None]:
        """Run a child and sample the GPU around it; samples are None where NVML was not asked.

        Of several GPUs the first one's samples are at the top, and those of all, by rank, in ``gpus``.
        """
        if self.nvml is None:
            return run(), None
        uuids = [identity["uuid"] for identity in self.identities]
        before = [self._look(uuid) for uuid in uuids]
        for look in before:
            _warn(look)
        with contextlib.ExitStack() as stack:
            samplers = [stack.enter_context(Sampler(self.nvml, uuid)) for uuid in uuids]
            finished = run()
        told = [
            {"before": look, "after": self._look(uuid), **sampler.summary()}
            for look, uuid, sampler in zip(before, uuids, samplers, strict=True)
        ]
        return finished, {**told[0], **({"gpus": told} if self.others else {})}

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
    """Take a GPU, or those of a group, of those that a process with this environment would see.

    On a CPU there is nothing to take.
    """
    if device != "cuda":
        yield Device(None, f"device is {device}")
        return
    nvml, gpus, reason = _identify(environment, nvml_library)
    if nvml is None:
        numbers = ",".join(map(str, range(choice.count)))
        visible = environment.get("CUDA_VISIBLE_DEVICES", numbers).split(",")[: choice.count]
        keys = ["cuda-" + "".join(c for c in word if c.isalnum() or c in "-_") for word in visible]
        with all_locked(keys, holder) as descriptors:
            yield Device(None, reason, descriptors)
        return
    if choice.count > 1:
        chosen = choice.several(gpus)
        told = {gpu["uuid"]: gpu for gpu in gpus}
        hidden = {"CUDA_VISIBLE_DEVICES": ",".join(chosen)}
        with all_locked(chosen, holder) as descriptors:
            others = tuple(told[uuid] for uuid in chosen[1:])
            yield Device(told[chosen[0]], None, descriptors, nvml, hidden, others)
        return
    with free_gpu_lock(choice.order(gpus), holder=holder) as (uuid, descriptor):
        identity = next(gpu for gpu in gpus if gpu["uuid"] == uuid)
        hidden = {"CUDA_VISIBLE_DEVICES": uuid} if len(gpus) > 1 else {}
        yield Device(identity, None, (descriptor,), nvml, hidden)


@contextlib.contextmanager
def all_locked(keys: Sequence[str], holder: dict[str, str]) -> Iterator[tuple[int, ...]]:
    """Hold the locks of several GPUs; gives their descriptors.

    Everyone takes them in one order, so that no two wait for each other; whoever wants any free GPU holds none while
    it waits.
    """
    with contextlib.ExitStack() as stack:
        yield tuple(stack.enter_context(gpu_lock(key, holder=holder)) for key in sorted(set(keys)))


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
