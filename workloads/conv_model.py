"""conv_model: a small convolutional network for images, inside a range `model_inference` of its own.

Input: batch x 3 x size x size, standard normal.  Output: batch x 10 logits.
torch.profiler names one convolution three times, since aten::conv2d calls aten::convolution, which calls
aten::_convolution: the times in the column "total" are nested, those in "self" are not, and the summary shows it.
"""

from __future__ import annotations

from typing import Any

from kernel_ledger.inference import VARIANTS, reference
from kernel_ledger.workload import Context, Parameters, Tolerance, Workload

CLASSES = 10
CHANNELS = (3, 32, 64, 128)


def network() -> Any:
    """Three blocks of convolution, batch norm and ReLU, each halving the image; then mean and a linear layer."""
    import torch

    layers: list[Any] = []
    for before, after in zip(CHANNELS, CHANNELS[1:], strict=False):
        layers += [
            torch.nn.Conv2d(before, after, kernel_size=3, padding=1),
            torch.nn.BatchNorm2d(after),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
        ]
    head = [torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(CHANNELS[-1], CLASSES)]
    return torch.nn.Sequential(*layers, *head)


def build(parameters: Parameters, context: Context) -> dict[str, Any]:
    """A network with seeded weights, in inference mode, and a batch of images."""
    import torch

    torch.manual_seed(context.seed)
    model = network().to(context.device).eval().requires_grad_(False)
    generator = torch.Generator(context.device).manual_seed(context.seed)
    shape = (parameters["batch"], CHANNELS[0], parameters["size"], parameters["size"])
    return {"model": model, "x": torch.randn(shape, generator=generator, device=context.device)}


WORKLOAD = Workload(
    name="conv_model",
    parameters={"batch": 256, "size": 128},
    cases={"cuda": [{"batch": 256, "size": 128}], "cpu": [{"batch": 4, "size": 16}]},
    build=build,
    reference=reference,
    tolerance=lambda parameters: Tolerance(rtol=1e-3, atol=1e-4),  # compiled: other layouts, so other sums
    sections=("nested_time",),
    variants=VARIANTS,
)
