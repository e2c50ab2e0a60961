"""gelu: tanh-GELU of one float32 tensor, n x n, in every way that people write it.

Input: x, standard normal.  Output: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), of the same shape.
Purely memory-bound: a spelling can be judged by how close it comes to a copy of the same tensor.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kernel_ledger import inline_extension
from kernel_ledger.workload import Context, Parameters, Published, Traffic, Variant, Workload

FLOAT_BYTES = 4
SQRT_TWO_OVER_PI = math.sqrt(2.0 / math.pi)
CUBIC = 0.044715  # Hendrycks & Gimpel 2016, arXiv:1606.08415
FUSED_TRAFFIC = Traffic(reads=1, writes=1)
TRITON_BLOCK, TRITON_WARPS = 1024, 8  # 4 floats a thread, one 16-byte load, as in csrc/gelu.cu
CSRC = Path(__file__).resolve().parents[1] / "csrc"

INLINE_HEADER = "torch::Tensor gelu(torch::Tensor x);"
INLINE_WRAPPER = """
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

torch::Tensor gelu(torch::Tensor x) {
  TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.scalar_type() == at::kFloat, "gelu: a contiguous float32 CUDA tensor");
  const c10::cuda::CUDAGuard guard(x.device());
  torch::Tensor out = torch::empty_like(x);
  kernel_ledger::launch_gelu(x.data_ptr<float>(), out.data_ptr<float>(), x.numel(), true, c10::cuda::getCurrentCUDAStream());
  return out;
}
"""


def build(parameters: Parameters, context: Context) -> dict[str, Any]:
    import torch

    generator = torch.Generator(context.device).manual_seed(context.seed)
    n = parameters["n"]
    return {"x": torch.randn(n, n, generator=generator, device=context.device, dtype=torch.float32)}


def manual(x: Any) -> Any:
    """PyTorch arithmetic: nine kernels, 13 reads and 9 writes an element."""
    import torch

    return 0.5 * x * (1.0 + torch.tanh(SQRT_TWO_OVER_PI * (x + CUBIC * x * x * x)))


def builtin(x: Any) -> Any:
    import torch

    return torch.nn.functional.gelu(x, approximate="tanh")


def ours(x: Any) -> Any:
    """csrc/gelu.cu, 16 bytes a load."""
    import torch

    return torch.ops.kernel_ledger.gelu(x)


def ours_scalar(x: Any) -> Any:
    """csrc/gelu.cu, one float a load."""
    import torch

    return torch.ops.kernel_ledger.gelu(x, vectorized=False)


def spelled(function: Callable[[Any], Any]) -> Callable[..., Callable[[], Any]]:
    """The ``make`` of a variant that is a function of x."""

    def make(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Callable[[], Any]:
        x = inputs["x"]
        return lambda: function(x)

    return make


def make_compiled(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Callable[[], Any]:
    """``manual`` through torch.compile, for this shape alone."""
    import torch

    return spelled(torch.compile(manual, dynamic=False))(parameters, context, inputs)


def inline_gelu() -> Callable[[Any], Any]:
    """csrc/gelu.cu again, compiled by load_inline into a folder beside our built library."""
    module = inline_extension.load(
        "gelu_inline",
        cpp=INLINE_HEADER,
        cuda=(CSRC / "gelu.cu").read_text() + INLINE_WRAPPER,
        functions=["gelu"],
        include=CSRC,
        folder=Path("build/cuda/inline"),
    )
    return module.gelu


def make_inline(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Callable[[], Any]:
    return spelled(inline_gelu())(parameters, context, inputs)


def triton_gelu() -> Callable[[Any], Any]:
    """A Triton kernel for any number of elements: the last block's tail is masked.

    x / (1 + exp(-2u)) equals 0.5 x (1 + tanh(u)), and needs no tanh, which Triton has only in a library.
    """
    global triton, tl  # the kernel's names are looked up in this module
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def gelu_tanh_triton(x_ptr, out_ptr, count, SCALE: tl.constexpr, CUBE: tl.constexpr, BLOCK: tl.constexpr):
        start = tl.program_id(0).to(tl.int64) * BLOCK
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < count
        x = tl.load(x_ptr + offsets, mask=mask)
        inner = SCALE * (x + CUBE * x * x * x)
        tl.store(out_ptr + offsets, x / (1.0 + tl.exp(-2.0 * inner)), mask=mask)

    def call(x: torch.Tensor) -> torch.Tensor:
        if not x.is_contiguous() or x.dtype != torch.float32:
            raise ValueError(
                f"gelu_tanh_triton takes a contiguous float32 tensor, not {x.dtype}, strides {x.stride()}"
            )
        out = torch.empty_like(x)
        if x.numel():
            grid = (triton.cdiv(x.numel(), TRITON_BLOCK),)
            with torch.cuda.device(x.device):  # Triton launches on the current one
                gelu_tanh_triton[grid](
                    x,
                    out,
                    x.numel(),
                    SCALE=SQRT_TWO_OVER_PI,
                    CUBE=CUBIC,
                    BLOCK=TRITON_BLOCK,
                    num_warps=TRITON_WARPS,
                )
        return out

    return call


def make_triton(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Callable[[], Any]:
    return spelled(triton_gelu())(parameters, context, inputs)


def without_triton(device: str) -> str | None:
    return (
        None
        if importlib.util.find_spec("triton")
        else "needs the Python package triton, which is not installed"
    )


def make_copy(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Callable[[], Any]:
    """A device-to-device copy of x: on CUDA one memcpy and no kernel."""
    import torch

    source, target = inputs["x"], torch.empty_like(inputs["x"])
    return lambda: target.copy_(source)


def reference(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Any:
    return builtin(inputs["x"].double())


def elements(parameters: Parameters) -> int:
    return parameters["n"] ** 2


WORKLOAD = Workload(
    name="gelu",
    parameters={"n": 16384},
    cases={"cuda": [{"n": 16384}], "cpu": [{"n": 512}]},
    build=build,
    reference=reference,
    elements=elements,
    element_bytes=FLOAT_BYTES,
    working_set=lambda parameters: FUSED_TRAFFIC.floats_per_element * elements(parameters) * FLOAT_BYTES,
    published=Published(
        source="a published lecture",
        times_ns={
            "manual": 8_099_000,
            "builtin": 1_109_000,
            "compiled": 1_470_000,
            "cuda": 1_816_000,
            "triton": 1_727_000,
        },
    ),
    variants=[
        Variant("manual", spelled(manual), launches=9, traffic=Traffic(reads=13, writes=9)),
        Variant("builtin", spelled(builtin), launches=1, traffic=FUSED_TRAFFIC),
        Variant("compiled", make_compiled, launches=1, traffic=FUSED_TRAFFIC, needs=("compile",)),
        Variant(
            "cuda",
            spelled(ours),
            launches=1,
            kernels={"gelu_vector": 1},
            traffic=FUSED_TRAFFIC,
            needs=("extension",),
        ),
        Variant(
            "cuda_scalar",
            spelled(ours_scalar),
            launches=1,
            kernels={"gelu_scalar": 1},
            traffic=FUSED_TRAFFIC,
            needs=("extension",),
        ),
        Variant(
            "cuda_inline",
            make_inline,
            launches=1,
            kernels={"gelu_vector": 1},
            traffic=FUSED_TRAFFIC,
            needs=("cuda",),
            unavailable=inline_extension.unavailable,
        ),
        Variant(
            "triton",
            make_triton,
            launches=1,
            kernels={"gelu_tanh_triton": 1},
            traffic=FUSED_TRAFFIC,
            needs=("triton",),
            unavailable=without_triton,
        ),
        Variant("copy", make_copy, role="reference", launches=0, traffic=FUSED_TRAFFIC),
    ],
)
