"""resnet18: torchvision's network with seeded random weights, inside a range `model_inference`, as conv_model.

Input: batch x 3 x 224 x 224, standard normal.  Output: batch x 1000 logits.  Left out where there is no torchvision.
"""

from __future__ import annotations

import importlib.util
from typing import Any

from kernel_ledger.inference import VARIANTS, reference
from kernel_ledger.workload import Context, Parameters, Tolerance, Workload


def build(parameters: Parameters, context: Context) -> dict[str, Any]:
    import torch
    import torchvision

    torch.manual_seed(context.seed)
    model = torchvision.models.resnet18(weights=None).to(context.device).eval().requires_grad_(False)
    generator = torch.Generator(context.device).manual_seed(context.seed)
    shape = (parameters["batch"], 3, parameters["size"], parameters["size"])
    return {"model": model, "x": torch.randn(shape, generator=generator, device=context.device)}


def without_torchvision(device: str) -> str | None:
    if importlib.util.find_spec("torchvision") is None:
        return "needs the Python package torchvision, which is not installed"
    return None


WORKLOAD = Workload(
    name="resnet18",
    parameters={"batch": 32, "size": 224},
    cases={"cuda": [{"batch": 32, "size": 224}], "cpu": [{"batch": 1, "size": 64}]},
    build=build,
    reference=reference,
    tolerance=lambda parameters: Tolerance(
        rtol=1e-3, atol=1e-4
    ),  # twenty layers of float32, added in another order
    sections=("nested_time",),
    unavailable=without_torchvision,
    variants=VARIANTS,
)
