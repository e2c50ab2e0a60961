"""matmul: a @ b of two square matrices, in several sizes and dtypes: other shapes run other kernels.

Inputs: a and b, dim x dim, standard normal times dim**-0.5, so that the product is standard normal too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kernel_ledger.workload import Context, Parameters, Tolerance, Variant, Workload

DIMS = (1024, 2048, 4096, 8192)
DTYPES = ("float32", "bfloat16")
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
# The products are summed in float32; bfloat16 then rounds the result to 8 bits, half a unit of which is 2**-9.
TOLERANCES = {
    "float32": Tolerance(rtol=1e-5, atol=1e-5),
    "bfloat16": Tolerance(rtol=2**-7, atol=2**-7),
    "float16": Tolerance(rtol=2**-10, atol=2**-10),
}


def build(parameters: Parameters, context: Context) -> dict[str, Any]:
    import torch

    if parameters["dtype"] not in BYTES:
        raise ValueError(f"dtype is {parameters['dtype']!r}, not one of {', '.join(BYTES)}")
    dim, dtype = parameters["dim"], getattr(torch, parameters["dtype"])
    generator = torch.Generator(context.device).manual_seed(context.seed)
    place = {"generator": generator, "device": context.device, "dtype": torch.float32}
    scale = dim**-0.25  # of each factor
    return {name: (torch.randn(dim, dim, **place) * scale).to(dtype) for name in "ab"}


def make_matmul(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Callable[[], Any]:
    a, b = inputs["a"], inputs["b"]
    return lambda: a @ b


def reference(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Any:
    return inputs["a"].double() @ inputs["b"].double()


def working_set(parameters: Parameters) -> int:
    """Bytes of both factors and the product."""
    return 3 * parameters["dim"] ** 2 * BYTES[parameters["dtype"]]


WORKLOAD = Workload(
    name="matmul",
    parameters={"dim": 4096, "dtype": "float32"},
    cases={
        "cuda": [{"dim": dim, "dtype": dtype} for dtype in DTYPES for dim in DIMS],
        "cpu": [{"dim": 256, "dtype": dtype} for dtype in DTYPES],
    },
    build=build,
    reference=reference,
    working_set=working_set,
    not_chain=("aten::mm", "aten::matmul"),
    tolerance=lambda parameters: TOLERANCES[parameters["dtype"]],
    flops=lambda parameters: 2 * parameters["dim"] ** 3,
    sections=("kernel_names",),
    variants=[Variant("matmul", make_matmul)],
)
