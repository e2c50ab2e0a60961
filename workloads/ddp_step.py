"""ddp_step: one step of data-parallel training: forward, backward, gradients averaged over all ranks, SGD.

Input: each rank's own batch, rows x dim, standard normal, and targets; the same weights everywhere.  Output: the
parameters after the step, which must be the same on every rank.  The weights themselves stay as they are, so that
every call computes the same.

Variants: ``overlapped``, DistributedDataParallel, whose all-reduces run beside the rest of the backward pass; and
``sequential``, one all-reduce of all gradients after it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kernel_ledger.workload import Context, Parameters, Tolerance, Variant, Workload

RATE = 0.1
SETTLING = 3  # DistributedDataParallel orders its buckets anew after the first step


def model_of(parameters: Parameters) -> Any:
    """A stack of linear layers with ReLU."""
    import torch

    torch.manual_seed(0)
    layers = []
    for _ in range(parameters["layers"]):
        layers += [torch.nn.Linear(parameters["dim"], parameters["dim"]), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers)


def batch(parameters: Parameters, seed: int, rank: int) -> tuple[Any, Any]:
    """Input and target of one rank, drawn on the CPU: every rank can draw that of every other."""
    import torch

    generator = torch.Generator().manual_seed(seed * 1000 + rank)
    shape = (parameters["rows"], parameters["dim"])
    return torch.randn(shape, generator=generator), torch.randn(shape, generator=generator)


def build(parameters: Parameters, context: Context) -> dict[str, Any]:
    x, target = batch(parameters, context.seed, context.rank)
    return {
        "model": model_of(parameters).to(context.device),
        "x": x.to(context.device),
        "target": target.to(context.device),
    }


def loss_of(model: Any, x: Any, target: Any) -> Any:
    return (model(x) - target).square().sum(-1).mean()


def stepped(parameters: list[Any], gradients: list[Any]) -> tuple[Any, ...]:
    """The parameters after one step of SGD, in new tensors."""
    import torch

    return tuple(torch._foreach_add([p.detach() for p in parameters], gradients, alpha=-RATE))


def make_overlapped(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Callable[[], Any]:
    import copy

    import torch

    on_gpu = context.device == "cuda"
    replica = torch.nn.parallel.DistributedDataParallel(
        copy.deepcopy(inputs["model"]),
        device_ids=[context.rank] if on_gpu else None,
        bucket_cap_mb=parameters["bucket_mb"],
    )
    weights = list(replica.parameters())

    def call() -> tuple[Any, ...]:
        with torch.enable_grad():
            replica.zero_grad(set_to_none=True)
            loss_of(replica, inputs["x"], inputs["target"]).backward()
        return stepped(weights, [p.grad for p in weights])

    for _ in range(SETTLING):
        call()
    return call


def make_sequential(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Callable[[], Any]:
    import torch
    import torch.distributed as dist

    model = inputs["model"]
    weights = list(model.parameters())

    def call() -> tuple[Any, ...]:
        with torch.enable_grad():
            gradients = torch.autograd.grad(loss_of(model, inputs["x"], inputs["target"]), weights)
        flat = torch.cat([g.reshape(-1) for g in gradients]).div_(context.world_size)
        dist.all_reduce(flat)
        shares = flat.split([w.numel() for w in weights])
        return stepped(weights, [s.view_as(w) for s, w in zip(shares, weights, strict=True)])

    return call


def reference(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Any:
    """The step in float64 over the batches of all ranks, without any communication."""
    import copy

    import torch

    model = copy.deepcopy(inputs["model"]).double()
    weights = list(model.parameters())
    with torch.enable_grad():
        losses = [
            loss_of(
                model, *(t.to(context.device, torch.float64) for t in batch(parameters, context.seed, rank))
            )
            for rank in range(context.world_size)
        ]
        gradients = torch.autograd.grad(sum(losses) / context.world_size, weights)
    return stepped(weights, list(gradients))


WORKLOAD = Workload(
    name="ddp_step",
    parameters={"world_size": 2, "rows": 4096, "dim": 2048, "layers": 8, "bucket_mb": 32},
    cases={"cuda": [{}], "cpu": [{"rows": 8, "dim": 16, "layers": 3, "bucket_mb": 1}]},
    build=build,
    reference=reference,
    world_size=lambda parameters: parameters["world_size"],
    tolerance=lambda parameters: Tolerance(rtol=1e-4, atol=1e-5),
    variants=[Variant("overlapped", make_overlapped), Variant("sequential", make_sequential)],
)
