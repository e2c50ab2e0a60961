"""A workload for the tests: y = 2 x + 1 on a few numbers, in a right variant and one spoiled on request."""

import math

from kernel_ledger.workload import Expectation, Variant, Workload


def build(parameters, context):
    import torch

    generator = torch.Generator(context.device).manual_seed(context.seed)
    return torch.randn(parameters["rows"], 4, generator=generator, device=context.device)


def plain(parameters, context, x):
    return lambda: x * 2 + 1


def spelled_otherwise(parameters, context, x):
    """The same, or spoiled as the parameter ``spoil`` says."""

    def call():
        y = x + x + 1
        if parameters["spoil"] == "value":
            y[1, 2] += 1
        elif parameters["spoil"] == "nan":
            y[0, 3] = math.nan
        elif parameters["spoil"] == "shape":
            y = y[:-1]
        elif parameters["spoil"] == "dtype":
            y = y.double()
        elif parameters["spoil"] == "crash":
            raise RuntimeError("spoiled on purpose")
        elif parameters["spoil"] == "hang":
            import time

            time.sleep(120)
        return y

    return call


def copy(parameters, context, x):
    import torch

    target = torch.empty_like(x)
    return lambda: target.copy_(x)


def expectations(parameters, context):
    return {"plain": [Expectation("tiny", 1, grid=(1, 1, 1), block=(32, 1, 1), least_ns=0)]}


WORKLOAD = Workload(
    name="tiny",
    parameters={"rows": 8, "spoil": "no"},
    cases={"cpu": [{}]},
    build=build,
    reference=lambda parameters, context, x: x.double() * 2 + 1,
    elements=lambda parameters: parameters["rows"] * 4,
    clamp=(-1.0, 2.0),
    expectations=expectations,
    variants=[
        Variant("plain", plain),
        Variant("other", spelled_otherwise),
        Variant("copy", copy, role="reference"),
    ],
)
