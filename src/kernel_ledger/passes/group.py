"""The process group of a pass: joined where the request asks for ranks, of one process alone otherwise.

What the ranks tell each other goes over gloo, on the CPU: it leaves no kernel in either book.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from ..errors import MachineError

BACKENDS = {"cuda": "cpu:gloo,cuda:nccl", "cpu": "gloo"}


@dataclass(frozen=True)
class Group:
    """``control``: the gloo group for what is not measured, None for a process alone."""

    rank: int = 0
    size: int = 1
    control: Any = None

    @property
    def first(self) -> bool:
        """Whether this rank speaks for all: it writes child.json and what a pass has once."""
        return self.rank == 0

    def barrier(self) -> None:
        if self.control is not None:
            dist.barrier(group=self.control)

    def gather(self, value: Any) -> list[Any]:
        """The values of all ranks, by rank; every rank gets them."""
        if self.control is None:
            return [value]
        values = [None] * self.size
        dist.all_gather_object(values, value, group=self.control)
        return values

    def agreed(self, value: Any) -> Any:
        """The first rank's value, for a decision that all ranks must take alike."""
        return self.gather(value)[0]


ALONE = Group()


def leave() -> None:
    """Leave the group, if this process joined one; else torch warns of it as a leak."""
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()


def join(request: Mapping[str, Any]) -> Group:
    """Join the group that torchrun announced in the environment, on this rank's own GPU."""
    if request.get("world_size") is None:
        return ALONE
    rank, local = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    if request["device"] == "cuda":
        if local >= torch.cuda.device_count():
            raise MachineError(
                "there is no GPU for each rank",
                expected=f"{request['world_size']} GPUs",
                found=f"{torch.cuda.device_count()}",
                next_step="choose a smaller world_size for the case, or run where there are more GPUs",
            )
        torch.cuda.set_device(local)
    dist.init_process_group(BACKENDS[request["device"]])
    return Group(rank, dist.get_world_size(), dist.new_group(backend="gloo"))
