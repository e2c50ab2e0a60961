"""transformer_block: attention and MLP with layer norms, forward, or forward and backward; also as a CUDA graph.

Input: x, batch x tokens x dim, standard normal, and the gradient of the output.  Output: the block's output; in mode
forward_backward also the gradients of x and of every parameter.

Autograd launches backward kernels from a thread of its own, and a graph launches all of its kernels by one call: both
must still be found in their range, in both books.

At the default size an activation is 128 MiB and does not fit in the L2 cache, whose hits differ from process to process.

Every pass must compute the same bytes.  On CUDA the backward of attention is deterministic only on request, and of
the fused ones only the memory-efficient attention takes float32: it is the one that runs here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from kernel_ledger.workload import Context, Parameters, Tolerance, Variant, Workload

MODES = ("forward", "forward_backward")
CAPTURE_WARMUP = 3  # calls on a side stream before a capture, as torch's documentation asks for
TOLERANCES = {"float32": Tolerance(rtol=1e-3, atol=1e-4), "bfloat16": Tolerance(rtol=2**-5, atol=2**-4)}


def block(dim: int, heads: int) -> Any:
    """Pre-norm: x + attention(norm(x)), then x + mlp(norm(x)) with a tanh-GELU four times as wide."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
            self.qkv, self.project = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
            self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU("tanh"), nn.Linear(4 * dim, dim))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            batch, tokens, _ = x.shape
            qkv = self.qkv(self.norm1(x)).view(batch, tokens, 3, heads, dim // heads)
            q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.project(mixed.transpose(1, 2).reshape(batch, tokens, dim))
            return x + self.mlp(self.norm2(x))

    return Block()


def build(parameters: Parameters, context: Context) -> dict[str, Any]:
    import torch

    if parameters["mode"] not in MODES:
        raise ValueError(f"mode is {parameters['mode']!r}, not one of {', '.join(MODES)}")
    if context.device == "cuda":
        make_deterministic()
    torch.manual_seed(context.seed)
    dtype = getattr(torch, parameters["dtype"])
    backward = parameters["mode"] == "forward_backward"
    model = block(parameters["dim"], parameters["heads"]).to(context.device, dtype).requires_grad_(backward)
    shape = (parameters["batch"], parameters["tokens"], parameters["dim"])
    generator = torch.Generator(context.device).manual_seed(context.seed)
    place = {"generator": generator, "device": context.device}
    rows = shape[0] * shape[1]
    return {
        "model": model,
        "x": torch.randn(shape, **place).to(dtype).requires_grad_(backward),
        # a parameter's gradient is a sum over all rows: of the size of 1, like the output
        "gradient": (torch.randn(shape, **place) * rows**-0.5).to(dtype),
    }


def make_deterministic() -> None:
    """One attention, the same bytes each time.  cuBLAS needs a workspace of fixed size for that."""
    import torch

    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)  # with warn_only, attention's backward stays as it is
    torch.utils.deterministic.fill_uninitialized_memory = (
        False  # it would launch a kernel for each empty tensor
    )
    torch.backends.cuda.enable_flash_sdp(False)
    torch.backends.cuda.enable_cudnn_sdp(False)
    torch.backends.cuda.enable_math_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(True)


def calling(model: Any, parameters: Parameters, inputs: Mapping[str, Any]) -> Callable[[], Any]:
    """The call that is measured."""
    import torch

    x, gradient = inputs["x"], inputs["gradient"]
    wanted = [x, *inputs["model"].parameters()]

    def forward() -> torch.Tensor:
        with torch.no_grad():
            return model(x)

    def forward_backward() -> tuple[torch.Tensor, ...]:
        with torch.enable_grad():
            output = model(x)
            gradients = torch.autograd.grad(output, wanted, gradient)
        return output.detach(), *gradients

    return forward if parameters["mode"] == "forward" else forward_backward


def make_eager(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Callable[[], Any]:
    return calling(inputs["model"], parameters, inputs)


def make_compiled(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Callable[[], Any]:
    import torch

    return calling(torch.compile(inputs["model"], dynamic=False), parameters, inputs)


def make_graph(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Callable[[], Any]:
    """The eager call captured once as a CUDA graph and replayed."""
    import torch

    call = calling(inputs["model"], parameters, inputs)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(CAPTURE_WARMUP):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = call()

    def replay() -> Any:
        graph.replay()
        return output

    return replay


def reference(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Any:
    """The forward output in float64, with attention written out; of the gradients there is no reference."""
    import copy

    import torch

    if parameters["mode"] != "forward":
        return None
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH), torch.no_grad():
        return copy.deepcopy(inputs["model"]).double()(inputs["x"].double())


WORKLOAD = Workload(
    name="transformer_block",
    parameters={
        "batch": 32,
        "tokens": 1024,
        "dim": 1024,
        "heads": 16,
        "dtype": "float32",
        "mode": "forward",
    },
    cases={
        "cuda": [{"mode": mode} for mode in MODES],
        "cpu": [{"batch": 2, "tokens": 16, "dim": 32, "heads": 4, "mode": mode} for mode in MODES],
    },
    build=build,
    reference=reference,
    not_chain=(
        "aten::addmm",
        "aten::mm",
        "aten::_efficient_attention_forward",
        "aten::_efficient_attention_backward",
    ),
    tolerance=lambda parameters: TOLERANCES[parameters["dtype"]],
    variants=[
        Variant("eager", make_eager),
        Variant("compiled", make_compiled, needs=("compile",)),
        Variant("graph", make_graph, needs=("cuda",)),
    ],
)
