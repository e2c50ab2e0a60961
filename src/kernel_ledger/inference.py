"""What workloads of a model's inference share: the measured call inside a range of torch.profiler, eager and compiled.

Their ``build`` returns ``{"model": ..., "x": ...}``: a module in inference mode and a tensor, both on the device.
torch is imported only when a pass calls these functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .workload import Context, Parameters, Variant

RANGE = "model_inference"


def calling(model: Any, x: Any) -> Callable[[], Any]:
    """The call that is measured; the range is torch.profiler's and shows in its table."""
    import torch

    @torch.no_grad()
    def call() -> torch.Tensor:
        with torch.profiler.record_function(RANGE):
            return model(x)

    return call


def make_eager(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Callable[[], Any]:
    return calling(inputs["model"], inputs["x"])


def make_compiled(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Callable[[], Any]:
    """The model through torch.compile, for this shape alone."""
    import torch

    return calling(torch.compile(inputs["model"], dynamic=False), inputs["x"])


def reference(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Any:
    """The output of a copy of the model in float64."""
    import copy

    return copy.deepcopy(inputs["model"]).double()(inputs["x"].double())


VARIANTS = (Variant("eager", make_eager), Variant("compiled", make_compiled, needs=("compile",)))
