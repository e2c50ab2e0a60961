"""add: a + b of two square matrices; at the default size all of it stays in a large GPU's L2, and the report says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kernel_ledger.workload import Context, Parameters, Tolerance, Traffic, Variant, Workload

BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
DTYPES = ("float32", "bfloat16")
TRAFFIC = Traffic(reads=2, writes=1)


def build(parameters: Parameters, context: Context) -> dict[str, Any]:
    import torch

    dim, dtype = parameters["dim"], getattr(torch, parameters["dtype"])
    generator = torch.Generator(context.device).manual_seed(context.seed)
    place = {"generator": generator, "device": context.device, "dtype": torch.float32}
    return {name: torch.randn(dim, dim, **place).to(dtype) for name in "ab"}


def make_add(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Callable[[], Any]:
    a, b = inputs["a"], inputs["b"]
    return lambda: a + b


def make_copy(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Callable[[], Any]:
    """A device-to-device copy of a: on CUDA one memcpy and no kernel."""
    import torch

    source, target = inputs["a"], torch.empty_like(inputs["a"])
    return lambda: target.copy_(source)


def reference(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Any:
    return inputs["a"].double() + inputs["b"].double()


def elements(parameters: Parameters) -> int:
    return parameters["dim"] ** 2


WORKLOAD = Workload(
    name="add",
    parameters={"dim": 2048, "dtype": "float32"},
    cases={
        "cuda": [{"dim": 2048, "dtype": dtype} for dtype in DTYPES],
        "cpu": [{"dim": 256, "dtype": dtype} for dtype in DTYPES],
    },
    build=build,
    reference=reference,
    elements=elements,
    element_bytes=lambda parameters: BYTES[parameters["dtype"]],
    working_set=lambda parameters: 3 * elements(parameters) * BYTES[parameters["dtype"]],
    tolerance=lambda parameters: Tolerance(0.0, 0.0),  # one rounding: every spelling gives the same bytes
    flops=elements,
    sections=("kernel_names",),
    variants=[
        Variant("add", make_add, launches=1, traffic=TRAFFIC),
        Variant("copy", make_copy, role="reference", launches=0, traffic=Traffic(reads=1, writes=1)),
    ],
)
