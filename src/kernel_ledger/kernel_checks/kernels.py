"""The kernels that are checked: how each is called, and what it must compute, in float64."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from ..workload import load

Tensor = torch.Tensor
GELU = Path("workloads/gelu.py")
CHAIN = {"gamma": 1.25, "beta": 0.1, "low": -1.0, "high": 2.0}


@dataclass(frozen=True)
class Kernel:
    """An elementwise kernel of ``inputs`` float32 tensors of one shape.  ``absent``: why it cannot run here, or None."""

    name: str
    inputs: int
    call: Callable[..., Tensor] | None
    exact: Callable[..., Tensor]
    absent: str | None = None


def gelu_exact(x: Tensor) -> Tensor:
    """tanh-GELU as it is written down, in the dtype of x."""
    inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)
    return 0.5 * x * (1.0 + torch.tanh(inner))


def chain_exact(x: Tensor, residual: Tensor) -> Tensor:
    scaled = x * CHAIN["gamma"] + CHAIN["beta"]
    return torch.clamp(gelu_exact(scaled) + residual, CHAIN["low"], CHAIN["high"])


def kernels(device: str) -> Iterator[Kernel]:
    """All of them; those that need a GPU with the reason where there is none."""
    ours = torch.ops.kernel_ledger
    for name, vectorized in (("fused_chain_vector", True), ("fused_chain_scalar", False)):
        yield Kernel(
            name, 2, lambda x, r, v=vectorized: ours.fused_chain(x, r, **CHAIN, vectorized=v), chain_exact
        )
    for name, vectorized in (("gelu_vector", True), ("gelu_scalar", False)):
        yield Kernel(name, 1, lambda x, v=vectorized: ours.gelu(x, vectorized=v), gelu_exact)
    workload = load(GELU)
    spelled = sys.modules[f"kernel_ledger_workload_{GELU.stem}"]
    for name, variant in (("gelu_tanh_triton", "triton"), ("gelu_inline", "cuda_inline")):
        unavailable = workload.variant(variant).unavailable
        absent = "needs a GPU" if device == "cpu" else unavailable(device)
        make = {"triton": spelled.triton_gelu, "cuda_inline": spelled.inline_gelu}[variant]
        yield Kernel(name, 1, None if absent else make(), gelu_exact, absent)


def special_values() -> Sequence[float]:
    """Where elementwise kernels go wrong: not numbers, infinities, zeros, very large, very small."""
    return (
        math.nan,
        math.inf,
        -math.inf,
        0.0,
        -0.0,
        1e30,
        -1e30,
        1e-40,
        -1e-40,
        88.0,
        -88.0,
        10.0,
        -10.0,
        -5.0,
    )
