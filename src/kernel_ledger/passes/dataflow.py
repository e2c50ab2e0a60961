"""Which tensors each operator of a variant reads and writes, by identity: what no profiler's trace can tell.

One more call of each variant in the numerics pass, where nothing is timed, under a TorchDispatchMode.  A buffer
is a storage; a weak reference to it keeps its address from being given to another one, but not its memory.  torch.compile
steps aside for a dispatch mode and runs the model eagerly: whoever reads the flow compares its operators with those of
the trace, and believes nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from .common import Session

FORMAT = 1  # of dataflow.json
ONLY_WRITTEN = ("aten::copy_", "aten::fill_", "aten::zero_")  # their target is not read
ALLOCATE = ("aten::empty", "aten::new_empty")  # a buffer, and nothing in it


class Recorder(TorchDispatchMode):
    """Notes every operator below autograd.  ``device``: tensors elsewhere (wrapped Python numbers) do not count."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self.device, self.operators, self.storages = device, [], {}

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = list(arguments(function, args, kwargs or {}))
        entry = {"operator": function._schema.name, "pointwise": torch.Tag.pointwise in function.tags,
                 "shapes": [list(t.shape) for _, t in given],
                 "reads": [self.tensor(t) for kind, t in given if kind != "out" and self.here(t)]}  # fmt: skip
        changed = [t for kind, t in given if kind != "read" and self.here(t)]
        if entry["operator"] in ONLY_WRITTEN:
            entry["reads"] = [self.tensor(t) for kind, t in given if kind == "read" and self.here(t)]
        known = {storage_key(t) for _, t in given}
        output = function(*args, **(kwargs or {}))
        fresh = [t for t in flat(output) if self.here(t) and storage_key(t) not in known]
        if entry["operator"].startswith(ALLOCATE):
            entry["writes"] = []
        else:
            entry["writes"] = [self.tensor(t) for t in [*changed, *fresh]]
        self.operators.append(entry)
        return output

    def here(self, tensor: torch.Tensor) -> bool:
        return tensor.device.type == self.device

    def tensor(self, tensor: torch.Tensor) -> dict[str, Any]:
        """A view of a buffer: ``elements`` are those in memory, so that an expanded one counts once."""
        elements = 1
        for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
            elements *= size if stride != 0 else min(size, 1)
        buffer = self.storages.setdefault(
            storage_key(tensor), (len(self.storages), StorageWeakRef(tensor.untyped_storage()))
        )[0]
        return {"buffer": buffer, "offset": tensor.storage_offset(), "shape": list(tensor.shape),
                "strides": list(tensor.stride()), "dtype": str(tensor.dtype).removeprefix("torch."), "elements": elements,
                "bytes": elements * tensor.element_size()}  # fmt: skip

    def alive(self) -> list[int]:
        """Buffers that still exist."""
        return [number for number, reference in self.storages.values() if not reference.expired()]


def arguments(function: Any, args: tuple, kwargs: dict) -> Iterator[tuple[str, torch.Tensor]]:
    """("read", "changed" or "out", tensor) for each tensor given, by the operator's schema."""
    for position, argument in enumerate(function._schema.arguments):
        value = args[position] if position < len(args) else kwargs.get(argument.name)
        written = argument.alias_info is not None and argument.alias_info.is_write
        kind = "out" if written and argument.is_out else "changed" if written else "read"
        yield from ((kind, tensor) for tensor in flat(value))


def flat(value: Any) -> list[torch.Tensor]:
    """The tensors of a value: one, those of a list or tuple, or none."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for part in value for t in flat(part)] if isinstance(value, list | tuple) else []


def storage_key(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata


def flow(call: Callable[[], Any], device: str) -> dict[str, Any]:
    """The flow of one call.  ``outlive``: buffers that exist when it has returned, with its output still held."""
    recorder = Recorder(device)
    try:
        with recorder:
            output = call()
    except Exception as error:  # a model may refuse a dispatch mode in any way; its flow is then unknown
        return {"reason": f"{type(error).__name__}: {error}"[:500], "operators": [], "outlive": []}
    alive = recorder.alive()
    del output
    return {"reason": None, "operators": recorder.operators, "outlive": alive}


def payload(session: Session) -> dict[str, Any]:
    """dataflow.json: the flow of every variant of a case."""
    variants = {name: flow(call, session.context.device) for name, call in session.calls.items()}
    session.synchronize()
    return {"format": FORMAT, "variants": variants}
