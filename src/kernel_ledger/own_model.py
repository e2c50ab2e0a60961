"""A workload from a file with one function, ``model()``, that returns an nn.Module and its example inputs.

    def model(batch: int = 64):
        return torch.nn.Linear(512, 512).eval(), (torch.randn(batch, 512),)

Its parameters, which need defaults, are those of a case in config.yaml.  Optional names in the file: ``NAME`` (the
file's own name otherwise), ``TOLERANCE`` = {"rtol": …, "atol": …}, ``VARIANTS`` (of "eager" and "compiled").
A function ``model_<variant>`` is a further variant: it returns another module for the same inputs.
What is wrong with the declaration is said while planning; own_model_checks says the rest, in the first pass.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from .errors import ConfigError
from .workload import NAME, Context, Parameters, Tolerance, Variant, Workload

VARIANTS = ("eager", "compiled")
FURTHER = "model_"
TOLERANCE = {"rtol": 1e-3, "atol": 1e-4}
"""Of two float32 networks that add in another order."""
TEMPLATE = "see workloads/template.py and docs/own-model.md"
SCALARS = (bool, int, float, str)


def declared(module: ModuleType, path: Path) -> Workload:
    """The workload of a file that has no WORKLOAD.  Raises ConfigError for what is wrong with its declaration."""
    function = getattr(module, "model", None)
    if function is None:
        near = [
            name for name in ("Model", "get_model", "build_model", "net", "forward") if hasattr(module, name)
        ]
        raise ConfigError(
            "this file defines neither a function `model` nor WORKLOAD",
            where=path,
            expected="def model(): return module, (input, ...)",
            found=f"there is {near[0]!r}; is it that?" if near else None,
            next_step=TEMPLATE,
        )
    if not inspect.isfunction(function):
        raise ConfigError(
            "`model` is not a function",
            where=path,
            expected="def model(): return module, (input, ...)",
            found=f"model is {describe(function)}",
            next_step=TEMPLATE,
        )
    return Workload(
        name=name_of(module, path),
        parameters=parameters_of(function, path),
        cases={"cuda": [{}], "cpu": [{}]},
        build=lambda parameters, context: build(function, path, parameters, context),
        reference=reference,
        tolerance=tolerance_of(module, path),
        variants=[*(VARIANT[name] for name in variants_of(module, path)), *further_variants(module, path)],
    )


def further_variants(module: ModuleType, path: Path) -> list[Variant]:
    """A variant for each function ``model_<name>`` of the file, in its order; it takes what model() takes.

    Raises ConfigError for one with other parameters, or with the name of a variant that there is anyway.
    """
    found, wanted = [], parameters_of(module.model, path)
    for name, function in vars(module).items():
        if (
            not name.startswith(FURTHER)
            or not inspect.isfunction(function)
            or function.__module__ != module.__name__
        ):
            continue
        variant = name.removeprefix(FURTHER)
        if variant in VARIANTS:
            raise ConfigError(
                f"{name}() cannot be called so: there is a variant {variant!r} of model() itself",
                where=path,
                next_step=f"rename it, such as {FURTHER}fused",
            )
        given = parameters_of(function, path)
        if given != wanted:
            raise ConfigError(
                f"{name}() must take the parameters of model(), with the same defaults",
                where=path,
                expected=wanted or "no parameters",
                found=given or "no parameters",
            )
        found.append(Variant(variant, further(function, path)))
    return found


def further(function: Callable[..., Any], path: Path) -> Callable[..., Callable[[], Any]]:
    """The ``make`` of a variant that a function of the file builds, called with the inputs of model()."""

    def make(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Callable[[], Any]:
        from .own_model_checks import check_call, checked_module, placed

        returned = returned_by(function, path, parameters, context)
        module, _ = placed(checked_module(returned, function.__name__, path), (), context.device, path)
        check_call(module, inputs["inputs"], path)
        return calling(module, inputs)

    return make


def describe(value: Any) -> str:
    """A value as an error names it."""
    return f"the class {value.__name__}" if isinstance(value, type) else f"of type {type(value).__name__}"


def name_of(module: ModuleType, path: Path) -> str:
    name = getattr(module, "NAME", re.sub(r"[^A-Za-z0-9_.-]", "_", path.stem))
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ConfigError(f"NAME must match {NAME.pattern}", where=path, found=repr(name))
    return name


def parameters_of(function: Callable[..., Any], path: Path) -> dict[str, Any]:
    """The function's parameters with their defaults: a case's parameters."""
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ConfigError(
                f"model() cannot take *args or **kwargs, as {parameter}", where=path, next_step=TEMPLATE
            )
        if not isinstance(parameter.default, SCALARS):
            missing = parameter.default is parameter.empty
            raise ConfigError(
                f"the parameter {name!r} of model() needs a default that is a number or text",
                where=path,
                expected=f"def model({name}=64): ..., which config.yaml can then set in `cases:`",
                found="no default" if missing else repr(parameter.default),
                next_step=TEMPLATE,
            )
        found[name] = parameter.default
    return found


def tolerance_of(module: ModuleType, path: Path) -> Callable[[Parameters], Tolerance]:
    given = getattr(module, "TOLERANCE", TOLERANCE)
    numbers = isinstance(given, Mapping) and all(
        isinstance(given.get(name), int | float) for name in TOLERANCE
    )
    if not numbers or set(given) != set(TOLERANCE) or any(not 0 <= given[name] <= 1 for name in TOLERANCE):
        raise ConfigError(
            "TOLERANCE must be two numbers from 0 to 1",
            where=path,
            expected=str(TOLERANCE),
            found=repr(given),
        )
    tolerance = Tolerance(**given)
    return lambda parameters: tolerance


def variants_of(module: ModuleType, path: Path) -> tuple[str, ...]:
    given = getattr(module, "VARIANTS", VARIANTS)
    if isinstance(given, str) or not given or [name for name in given if name not in VARIANTS]:
        raise ConfigError(
            "VARIANTS must be some of the names", where=path, expected=repr(VARIANTS), found=repr(given)
        )
    return tuple(name for name in VARIANTS if name in given)


def build(
    function: Callable[..., Any], path: Path, parameters: Parameters, context: Context
) -> dict[str, Any]:
    """The module and its inputs on the device, looked over; seeded, so that every pass has the same weights."""
    from .own_model_checks import check_call, checked_pair, placed

    returned = returned_by(function, path, parameters, context)
    module, inputs = placed(*checked_pair(returned, path), context.device, path)
    check_call(module, inputs, path)
    return {"module": module, "inputs": inputs, "path": path}


def returned_by(function: Callable[..., Any], path: Path, parameters: Parameters, context: Context) -> Any:
    """What a function of the file returns, seeded."""
    import torch

    torch.manual_seed(context.seed)
    try:
        with torch.enable_grad():  # as in a program of one's own; the calls are then made without
            return function(**parameters)
    except Exception as error:  # anything may go wrong in a user's function, and all of it is reported alike
        raise ConfigError(
            f"{function.__name__}() failed",
            where=path,
            found=f"{type(error).__name__}: {error}",
            next_step=TEMPLATE,
        ) from error


def make_eager(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Callable[[], Any]:
    return calling(inputs["module"], inputs)


def make_compiled(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Callable[[], Any]:
    """The module through torch.compile; what it cannot compile is an error that names the way out."""
    import torch

    call = calling(torch.compile(inputs["module"], dynamic=False), inputs)
    try:
        call()
    except Exception as error:  # the compiler's own errors have no common class
        raise ConfigError(
            "torch.compile cannot compile this model",
            where=inputs["path"],
            found=f"{type(error).__name__}: " + "\n".join(str(error).strip().splitlines()[:6]),
            next_step='write VARIANTS = ("eager",) in the file to measure it as it is',
        ) from error
    return call


def calling(module: Any, inputs: Mapping[str, Any]) -> Callable[[], Any]:
    import torch

    arguments = inputs["inputs"]

    @torch.no_grad()
    def call() -> Any:
        return module(*arguments)

    return call


def reference(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Any:
    """The output in float64, or None for a model that cannot run in it."""
    import copy

    import torch

    arguments = [a.double() if a.is_floating_point() else a for a in inputs["inputs"]]
    try:
        with torch.no_grad():
            output = copy.deepcopy(inputs["module"]).double()(*arguments)
    except (
        RuntimeError,
        TypeError,
        ValueError,
        NotImplementedError,
    ):  # a fixed dtype, no kernel, not enough memory
        return None
    parts = [output] if isinstance(output, torch.Tensor) else output
    exact = all(part.dtype == torch.float64 for part in parts if part.is_floating_point())
    return output if exact else None  # a forward that rounds on its own is no reference


VARIANT = {
    "eager": Variant("eager", make_eager),
    "compiled": Variant("compiled", make_compiled, needs=("compile",)),
}
