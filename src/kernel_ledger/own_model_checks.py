"""What people get wrong in a model of their own, each found before anything is measured, each an error with a way out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from .errors import ConfigError

RETURN = "return module, (input, ...)"


def checked_pair(returned: Any, path: Path) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    """(module, inputs) of what model() returned; a single tensor stands for a tuple of one."""
    if not isinstance(returned, tuple | list) or len(returned) != 2:
        many = f" of {len(returned)}" if isinstance(returned, tuple | list) else ""
        forgot = "; the inputs are missing" if isinstance(returned, torch.nn.Module) else ""
        nothing = "; is there a `return`?" if returned is None else ""
        raise ConfigError(
            "model() must return two things",
            where=path,
            expected=RETURN,
            found=f"{type(returned).__name__}{many}{forgot}{nothing}",
        )
    module, inputs = returned
    if not isinstance(module, torch.nn.Module):
        hint = (
            f"the class {module.__name__}, not an instance of it"
            if isinstance(module, type)
            else type(module).__name__
        )
        raise ConfigError(
            "the first thing that model() returns is no torch.nn.Module",
            where=path,
            expected=RETURN,
            found=hint,
        )
    inputs = (inputs,) if isinstance(inputs, torch.Tensor) else inputs
    if not isinstance(inputs, tuple | list) or not inputs:
        raise ConfigError(
            "the example inputs must be a tuple of tensors",
            where=path,
            expected=RETURN,
            found=f"{type(inputs).__name__}"
            + (" with nothing in it" if isinstance(inputs, tuple | list) else ""),
            next_step="wrap keyword or nested arguments in a small module whose forward takes tensors alone",
        )
    for number, value in enumerate(inputs):
        if not isinstance(value, torch.Tensor):
            raise ConfigError(
                f"example input {number} is no tensor",
                where=path,
                expected=RETURN,
                found=f"{type(value).__name__} {value!r:.60}",
                next_step="make a constant an attribute of the module, or a tensor",
            )
    return module, tuple(inputs)


def checked_module(returned: Any, function: str, path: Path) -> torch.nn.Module:
    """What ``model_<variant>()`` returned: the module alone."""
    if isinstance(returned, torch.nn.Module):
        return returned
    pair = isinstance(returned, tuple | list) and any(isinstance(part, torch.nn.Module) for part in returned)
    raise ConfigError(
        f"{function}() must return the module alone: it is called with the inputs that model() returns",
        where=path,
        expected="return module",
        found=f"{type(returned).__name__} of {len(returned)}" if pair else type(returned).__name__,
    )


def placed(
    module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], device: str, path: Path
) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    """Both on the run's device, moved there from the CPU; what stands on another device is refused."""
    held = [*module.named_parameters(), *module.named_buffers()]
    held += [(f"example input {number}", value) for number, value in enumerate(inputs)]
    wrong = [(name, value.device) for name, value in held if value.device.type not in ("cpu", device)]
    if wrong:
        name, where = wrong[0]
        raise ConfigError(
            "the model is on another device than the run",
            where=path,
            expected=f"the CPU, from where it is moved, or {device}",
            found=f"{name} is on {where}" + (f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""),
            next_step="build the model and its inputs on the CPU; the passes move both",
        )
    training = [
        f"{name or 'the module'} ({type(part).__name__})"
        for name, part in module.named_modules()
        if part.training and (getattr(part, "p", 0) if is_dropout(part) else isinstance(part, BATCH_NORM))
    ]
    if training:
        raise ConfigError(
            "the model is in training mode, where these layers give another output each time",
            where=path,
            found=", ".join(training[:3]) + (f" and {len(training) - 3} more" if len(training) > 3 else ""),
            next_step="return module.eval(), (input, ...)",
        )
    return module.to(device), tuple(value.detach().to(device) for value in inputs)


BATCH_NORM = torch.nn.modules.batchnorm._BatchNorm


def is_dropout(part: torch.nn.Module) -> bool:
    return isinstance(part, torch.nn.modules.dropout._DropoutNd)


def check_call(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], path: Path) -> None:
    """Call the model twice: it must give tensors, the same ones, and leave its inputs as they were."""
    before = [value.clone() for value in inputs]
    first = called(module, inputs, path)
    kept = [part.clone() for part in first]
    for number, (value, old) in enumerate(zip(inputs, before, strict=True)):
        if not same(value, old):
            raise ConfigError(
                f"forward changes example input {number} in place, so that each call computes something else",
                where=path,
                next_step="clone it in forward: x = x.clone(); or use the operator without the underscore at its end",
            )
    second = called(module, inputs, path)
    for number, (one, other) in enumerate(zip(kept, second, strict=True)):
        if not same(one, other):
            raise ConfigError(
                "the model gives another output each time, so that no two passes measure the same work",
                where=path,
                found=f"output {number}: {different(one, other)}",
                next_step="call .eval(), draw no random numbers in forward, and keep no state between calls; where the "
                "order of atomic additions is at fault, torch.use_deterministic_algorithms(True) names the operator",
            )


def called(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], path: Path) -> list[torch.Tensor]:
    """One call, as the passes make it; its output as a list of tensors."""
    try:
        with torch.no_grad():
            output = module(*inputs)
        if inputs[0].is_cuda:
            torch.cuda.synchronize()
    except Exception as error:  # anything may go wrong in a user's forward, and all of it is reported alike
        shapes = ", ".join(f"{tuple(value.shape)} {value.dtype} on {value.device}" for value in inputs)
        raise ConfigError(
            "forward failed with the example inputs",
            where=path,
            expected=f"it takes {shapes}",
            found=f"{type(error).__name__}: {error}",
            next_step=advice(str(error)),
        ) from error
    parts = [output] if isinstance(output, torch.Tensor) else output
    if (
        not isinstance(parts, tuple | list)
        or not parts
        or any(not isinstance(p, torch.Tensor) for p in parts)
    ):
        inner = next((type(p).__name__ for p in parts if not isinstance(p, torch.Tensor)), "nothing") \
            if isinstance(parts, tuple | list) else None  # fmt: skip
        raise ConfigError(
            "forward must return a tensor or a tuple of tensors",
            where=path,
            found=type(output).__name__ + (f" with {inner} in it" if inner else ""),
            next_step="wrap the model in a small module whose forward returns the tensors, such as output.logits",
        )
    if any(part.requires_grad for part in parts):
        raise ConfigError(
            "forward switches gradients on, but a call is measured without them",
            where=path,
            found="an output has requires_grad=True under torch.no_grad()",
            next_step="remove torch.enable_grad() from forward; for a backward pass write a workload, as "
            "workloads/transformer_block.py is",
        )
    return list(parts)


def advice(error: str) -> str:
    """A way out for the errors that torch words badly."""
    if "same device" in error or "is on cpu" in error:
        return "a tensor that is a plain attribute does not move with the module: use register_buffer"
    if (
        "shapes cannot be multiplied" in error
        or "size of tensor" in error
        or "Expected" in error
        and "channels" in error
    ):
        return "compare the shapes of the example inputs with what the first layers take"
    if "dtype" in error or "scalar type" in error or "expected m1 and m2" in error:
        return "give inputs and module one dtype, such as module.bfloat16() and input.bfloat16()"
    return "call module(*inputs) in a Python shell to see the whole traceback"


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors hold the same bytes, NaN included."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(torch.equal(one.nan_to_num(), other.nan_to_num())) and bool(
        torch.equal(one.isnan(), other.isnan())
    )


def different(one: torch.Tensor, other: torch.Tensor) -> str:
    if one.shape != other.shape:
        return f"shape {tuple(one.shape)}, then {tuple(other.shape)}"
    at = (one != other).flatten().nonzero()[0].item()
    return f"element {at} is {one.flatten()[at].item()}, then {other.flatten()[at].item()}"
