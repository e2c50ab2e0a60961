"""Bytes of an operator from the shapes and types in the trace alone, where no data flow was recorded.

A trace has no tensor identities and no outputs.  So only pointwise operators whose arguments are known from their schema
are counted; the output has the broadcast shape of the inputs and, being arithmetic on one floating type, their type.
"""

from __future__ import annotations

from collections.abc import Hashable
from math import prod
from typing import Any

from ..trace_events import TraceEvent
from .step import Tensor

ITEM_BYTES = {"float": 4, "double": 8, "c10::Half": 2, "c10::BFloat16": 2}
UNARY = ("abs", "exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "relu", "gelu", "silu", "neg", "reciprocal", "sin", "cos",
         "erf", "clamp", "clamp_min", "clamp_max", "hardtanh", "leaky_relu", "elu", "softplus", "hardswish", "mish")  # fmt: skip
BINARY = ("add", "sub", "mul", "div", "maximum", "minimum", "pow", "rsub", "gelu_backward", "tanh_backward",
          "sigmoid_backward", "silu_backward", "threshold_backward")  # fmt: skip
TERNARY = ("addcmul", "addcdiv", "lerp")
INPUTS = {name: count for names, count in ((UNARY, 1), (BINARY, 2), (TERNARY, 3)) for name in names}
ASSUMED = (
    "from shapes: each kernel's output is assumed to be read by the next one alone, and all other inputs to be"
    " different tensors; the trace cannot tell"
)


def count(
    event: TraceEvent | None, number: int, previous: Tensor | None
) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]] | str:
    """(reads, writes) of an operator, or the reason why they are unknown.  ``previous``: the last step's output."""
    if event is None:
        return "no operator launched it"
    name = event.name.removeprefix("aten::")
    inputs = INPUTS.get(name.removesuffix("_")) if event.name.startswith("aten::") else None
    dims, types = event.args.get("Input Dims"), event.args.get("Input type")
    if inputs is None:
        return f"what {event.name} reads and writes cannot be told from its input shapes"
    if not dims or not types:
        return f"the trace has no input shapes of {event.name}"
    given = [(tuple(d), t) for d, t in zip(dims, types, strict=False) if d and not isinstance(d[0], list)]
    if len(given) > inputs:
        return f"{event.name} was given an output to write into, or other tensors beyond its schema's inputs"
    if not given or len({t for _, t in given}) > 1 or given[0][1] not in ITEM_BYTES:
        return f"the types {[t for _, t in given]} of {event.name} do not give that of its output"
    size = ITEM_BYTES[given[0][1]]
    shape = broadcast([d for d, _ in given])
    if shape is None:
        return f"the shapes of {event.name} cannot be broadcast"
    reads, open_key = [], previous.key if previous else None
    for place, (dim, kind) in enumerate(given):
        if open_key is not None and open_key[2:] == (dim, kind):
            reads.append(previous)
            open_key = None
        else:
            reads.append(tensor(("input", number, dim, kind, place), dim, size))
    return tuple(reads), (tensor(("output", number, shape, given[0][1]), shape, size),)


def tensor(key: Hashable, shape: tuple[int, ...], size: int) -> Tensor:
    return Tensor(buffer=key, key=key, elements=prod(shape), bytes=prod(shape) * size)


def broadcast(shapes: list[tuple[Any, ...]]) -> tuple[int, ...] | None:
    """The broadcast shape, None where there is none."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(s)) + s for s in shapes]
    result = []
    for sizes in zip(*padded, strict=True):
        wide = {s for s in sizes if s != 1}
        if len(wide) > 1:
            return None
        result.append(wide.pop() if wide else 1)
    return tuple(result)
