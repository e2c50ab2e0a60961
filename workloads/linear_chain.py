"""linear_chain: a Linear with bias, then scale and bias, tanh-GELU, residual add and clamp, in float32.

Inputs: x and residual, rows x dim, standard normal; weight and bias drawn as nn.Linear does.  Output: rows x
dim, clamped to [LOW, HIGH].
A GEMM that no variant changes, followed by a memory-bound chain that each spells its own way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kernel_ledger.workload import Context, Parameters, Traffic, Variant, Workload

GAMMA, BETA, LOW, HIGH = 1.25, 0.1, -1.0, 2.0
FLOAT_BYTES = 4
FUSED_TRAFFIC = Traffic(reads=2, writes=1)  # the GEMM's output and the residual; the output


def build(parameters: Parameters, context: Context) -> dict[str, Any]:
    """Seeded tensors on the device: x, residual, and the state_dict that all variants load."""
    import torch

    rows, dim = parameters["rows"], parameters["dim"]
    generator = torch.Generator(context.device).manual_seed(context.seed)
    place = {"device": context.device, "dtype": torch.float32}
    bound = dim**-0.5  # nn.Linear's own initialisation
    return {
        "x": torch.randn(rows, dim, generator=generator, **place),
        "residual": torch.randn(rows, dim, generator=generator, **place),
        "state": {
            "linear.weight": torch.empty(dim, dim, **place).uniform_(-bound, bound, generator=generator),
            "linear.bias": torch.empty(dim, **place).uniform_(-bound, bound, generator=generator),
        },
    }


def eager_chain(y: Any, residual: Any) -> Any:
    """Five elementwise kernels; 6 reads and 5 writes an element."""
    import torch

    gelu = torch.nn.functional.gelu(y * GAMMA + BETA, approximate="tanh")
    return torch.clamp(gelu + residual, LOW, HIGH)


def fused_chain(y: Any, residual: Any) -> Any:
    """One kernel, 16 bytes a load where the tensors allow it."""
    import torch

    return torch.ops.kernel_ledger.fused_chain(y, residual, GAMMA, BETA, LOW, HIGH)


def fused_scalar_chain(y: Any, residual: Any) -> Any:
    """The same kernel with loads of one float."""
    import torch

    return torch.ops.kernel_ledger.fused_chain(y, residual, GAMMA, BETA, LOW, HIGH, vectorized=False)


def module(chain: Callable[[Any, Any], Any], parameters: Parameters, inputs: Mapping[str, Any]) -> Any:
    """An nn.Module, forward(x, residual) = chain(linear(x), residual), with the shared weights."""
    import torch

    class LinearChain(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(parameters["dim"], parameters["dim"])

        def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
            return chain(self.linear(x), residual)

    block = LinearChain().to(inputs["x"].device)
    block.load_state_dict(inputs["state"])
    return block.eval().requires_grad_(False)


def calling(block: Any, inputs: Mapping[str, Any]) -> Callable[[], Any]:
    """The call that is measured: no arguments, no autograd."""
    import torch

    x, residual = inputs["x"], inputs["residual"]

    @torch.no_grad()
    def call() -> torch.Tensor:
        return block(x, residual)

    return call


def spelled(chain: Callable[[Any, Any], Any]) -> Callable[..., Callable[[], Any]]:
    """The ``make`` of a variant whose chain is ``chain``."""

    def make(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Callable[[], Any]:
        return calling(module(chain, parameters, inputs), inputs)

    return make


def make_compiled(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Callable[[], Any]:
    """The eager module through torch.compile; compiled at the first call, for this shape alone."""
    import torch

    return calling(torch.compile(module(eager_chain, parameters, inputs), dynamic=False), inputs)


def make_copy(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Callable[[], Any]:
    """A device-to-device copy of x: on CUDA one memcpy and no kernel."""
    import torch

    source, target = inputs["x"], torch.empty_like(inputs["x"])
    return lambda: target.copy_(source)


def make_add(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Callable[[], Any]:
    """torch.add on tensors of the same size: the traffic of the fused chain, from PyTorch's own kernel."""
    import torch

    a, b, out = inputs["x"], inputs["residual"], torch.empty_like(inputs["x"])
    return lambda: torch.add(a, b, out=out)


def reference(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Any:
    """The whole block in float64."""
    import torch

    weight, bias = (inputs["state"][f"linear.{name}"].double() for name in ("weight", "bias"))
    with torch.no_grad():
        y = torch.nn.functional.linear(inputs["x"].double(), weight, bias)
        return eager_chain(y, inputs["residual"].double())


def elements(parameters: Parameters) -> int:
    return parameters["rows"] * parameters["dim"]


def working_set(parameters: Parameters) -> int:
    """Bytes that the fused chain, the smallest, touches in one call."""
    return FUSED_TRAFFIC.floats_per_element * elements(parameters) * FLOAT_BYTES


WORKLOAD = Workload(
    name="linear_chain",
    parameters={"rows": 65536, "dim": 1024},
    cases={"cuda": [{"rows": 65536, "dim": 1024}], "cpu": [{"rows": 1024, "dim": 64}]},
    build=build,
    reference=reference,
    elements=elements,
    element_bytes=FLOAT_BYTES,
    working_set=working_set,
    clamp=(LOW, HIGH),
    not_chain=("aten::addmm", "aten::linear", "aten::mm"),
    variants=[
        Variant("eager", spelled(eager_chain), launches=6, traffic=Traffic(reads=6, writes=5)),
        Variant(
            "fused",
            spelled(fused_chain),
            launches=2,
            kernels={"fused_chain_vector": 1},
            traffic=FUSED_TRAFFIC,
            needs=("extension",),
        ),
        Variant(
            "fused_scalar",
            spelled(fused_scalar_chain),
            launches=2,
            kernels={"fused_chain_scalar": 1},
            traffic=FUSED_TRAFFIC,
            needs=("extension",),
        ),
        Variant("compiled", make_compiled, launches=2, traffic=FUSED_TRAFFIC, needs=("compile",)),
        Variant("copy", make_copy, role="reference", launches=0, traffic=Traffic(reads=1, writes=1)),
        Variant("add", make_add, role="reference", launches=1, traffic=Traffic(reads=2, writes=1)),
    ],
)
