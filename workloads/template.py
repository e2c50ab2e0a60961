"""A template for a model of your own: copy this file, put your model into it, and name it in config.yaml.

    workloads:
      - file: path/to/model.py

docs/own-model.md is a walk through it.
"""

import torch


def model(batch: int = 1024, width: int = 512):
    """Return the module and its example inputs, both on the CPU: each pass moves them to its device.

    Parameters (each with a default) can be set in config.yaml:  cases: [{batch: 2048}, {batch: 8192}]
    """
    module = torch.nn.Sequential(
        torch.nn.Linear(width, width),
        torch.nn.GELU(),
        torch.nn.Linear(width, width),
    )
    return module.eval(), (torch.randn(batch, width),)


# Optional.  How far the compiled model may be from the eager one; wider for bfloat16, such as 2e-2 for both.
TOLERANCE = {"rtol": 1e-3, "atol": 1e-4}
