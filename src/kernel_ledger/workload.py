"""The workload protocol: what a file in workloads/ declares, and the loader that reads it.

A workload file defines one module-level name, ``WORKLOAD``, a :class:`Workload`.  Importing the file
runs nothing on a device: the functions import torch themselves, so that planning a study costs no
torch import.  (A file that imports torch at its top works too; planning is then as slow as that.)
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import ConfigError
from .local_modules import local_modules, make_importable

NAME = re.compile(r"[A-Za-z0-9_.-]+")
Parameters = Mapping[str, Any]
Inputs = Any
SECTIONS = ("kernel_names", "nested_time")
"""kernel_names: which kernels each case picks, with tiles and stages; nested_time: why totals add up to more than a run."""


@dataclass(frozen=True)
class Context:
    """What a workload's functions are given.

    ``device``: "cuda" or "cpu".  ``seed``: seeds every random draw.  ``library``: path of the built
    extension (already loaded with torch.ops.load_library when a variant's ``make`` is called), or None.
    ``rank`` of ``world_size``: of a workload that runs in several processes; its process group is joined, and
    its GPU chosen, before ``build``.
    """

    device: str
    seed: int
    library: Path | None = None
    rank: int = 0
    world_size: int = 1


@dataclass(frozen=True)
class Traffic:
    """Tensors that the memory-bound chain of a variant reads and writes for each element."""

    reads: int
    writes: int

    @property
    def floats_per_element(self) -> int:
        return self.reads + self.writes


@dataclass(frozen=True)
class Variant:
    """One way to spell the workload's function.

    ``make(parameters, context, inputs)`` returns a callable without arguments that runs one call and
    returns its output tensor (or a tuple of tensors, or None for a variant without output).

    ``role``: "variant" (must agree numerically with the first variant) or "reference" (a yardstick such
    as a copy of the same tensors: timed and recorded, not compared).
    ``launches``: kernels that one call launches on CUDA, where that is known beforehand; else None.
    ``kernels``: name of a kernel of ours (demangled, without arguments or namespace) -> launches a call.
    ``traffic``: of the memory-bound chain; None where it has none.
    ``needs``: of "extension" (our built library), "compile" (torch.compile), "triton", "cuda".
    ``unavailable(device)``: why this machine cannot run it, or None; such a variant is left out of the plan, with the reason.
    ``output_rtol``: where atomics make the order of a sum, and so the bytes, differ from call to call: how much the
    output may differ between passes, relative to its norms.  None: the bytes must be the same in all passes.
    """

    name: str
    make: Callable[[Parameters, Context, Inputs], Callable[[], Any]]
    role: str = "variant"
    launches: int | None = None
    kernels: Mapping[str, int] = field(default_factory=dict)
    traffic: Traffic | None = None
    needs: tuple[str, ...] = ()
    unavailable: Callable[[str], str | None] | None = None
    output_rtol: float | None = None


@dataclass(frozen=True)
class Tolerance:
    """Greatest difference from the first variant: |actual - expected| <= atol + rtol * |expected|."""

    rtol: float
    atol: float


@dataclass(frozen=True)
class Published:
    """Times that others published of the same variants, printed beside ours as ratios.

    ``source``: who, in words.  ``times_ns``: variant -> ns.
    """

    source: str
    times_ns: Mapping[str, int]


@dataclass(frozen=True)
class Expectation:
    """What the program knows of one kernel of a variant before it runs (the ruler).

    ``launches`` a call; ``grid`` and ``block`` as (x, y, z); ``least_ns``: no launch can take less;
    ``bytes``: device memory that one launch must touch, or None.
    """

    kernel: str
    launches: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    least_ns: int
    bytes: int | None = None


@dataclass(frozen=True)
class Workload:
    """A piece of PyTorch work.

    ``parameters``: name -> default; a case overrides some of them.  ``cases``: device -> the cases that
    run where config.yaml lists none.
    ``build(parameters, context)`` returns the seeded inputs on the device, shared by all variants.
    ``reference(parameters, context, inputs)`` returns the output in float64, or None for none.
    ``elements(parameters)``: elements of the chain's tensors; ``element_bytes``: bytes of one,
    or a function of the parameters.
    ``not_chain``: operators (as torch.profiler names them) whose kernels are not part of the memory-bound
    chain, such as aten::addmm.
    ``expectations(parameters, context)``: variant -> what is known beforehand (the ruler has some).
    ``tolerance(parameters)``: of the numerics, for example by dtype; it takes the place of config.yaml's rtol and atol.
    ``flops(parameters)``: floating-point operations of one call.  ``published``: times of others to compare with.
    ``sections``: of SECTIONS, what the summary explains with this workload.
    ``unavailable(device)``: why this machine cannot run any of it, or None; then the plan leaves it out, with the reason.
    ``world_size(parameters)``: processes of a case, which torchrun starts, one GPU each; each calls every variant as
    often as the others.  None: the workload is one process without a process group.
    """

    name: str
    parameters: Parameters
    variants: Sequence[Variant]
    build: Callable[[Parameters, Context], Inputs]
    cases: Mapping[str, Sequence[Parameters]]
    reference: Callable[[Parameters, Context, Inputs], Any] | None = None
    elements: Callable[[Parameters], int] | None = None
    element_bytes: int | Callable[[Parameters], int] = 4
    working_set: Callable[[Parameters], int] | None = None
    clamp: tuple[float, float] | None = None
    not_chain: tuple[str, ...] = ()
    expectations: Callable[[Parameters, Context], Mapping[str, Sequence[Expectation]]] | None = None
    tolerance: Callable[[Parameters], Tolerance] | None = None
    flops: Callable[[Parameters], int] | None = None
    published: Published | None = None
    sections: tuple[str, ...] = ()
    unavailable: Callable[[str], str | None] | None = None
    world_size: Callable[[Parameters], int] | None = None

    def variant(self, name: str) -> Variant:
        return next(v for v in self.variants if v.name == name)

    def complete(self, case: Parameters) -> dict[str, Any]:
        """The parameters of a case: its own values over the defaults."""
        return {**self.parameters, **case}

    def case_name(self, case: Parameters) -> str:
        """A file name for a case, such as ``rows65536_dim1024``."""
        parts = [f"{key}{value}" for key, value in self.complete(case).items()]
        return re.sub(r"[^A-Za-z0-9_.-]", "-", "_".join(parts)) or "default"


def source_hash(path: Path) -> str:
    """SHA-256 of a workload file, as 64 hex digits; with those of the user's own modules that it imports, if any."""
    own = hashlib.sha256(path.read_bytes()).hexdigest()
    others = [
        (name, hashlib.sha256(file.read_bytes()).hexdigest()) for name, file in local_modules(path).items()
    ]
    return hashlib.sha256(repr([own, *others]).encode()).hexdigest() if others else own


def problems(workload: Workload) -> list[str]:
    """All that is wrong with a declaration, each as a sentence."""
    found = []
    names = [workload.name, *(v.name for v in workload.variants)]
    found += [f"name {n!r} must match {NAME.pattern}" for n in names if not NAME.fullmatch(n)]
    found += [f"variant {n!r} is declared twice" for n in set(names[1:]) if names[1:].count(n) > 1]
    if not any(v.role == "variant" for v in workload.variants):
        found.append("there is no variant of role 'variant'")
    found += [
        f"variant {v.name!r} has the role {v.role!r}, not 'variant' or 'reference'"
        for v in workload.variants
        if v.role not in ("variant", "reference")
    ]
    found += [
        f"there is no section {s!r}, only {', '.join(SECTIONS)}"
        for s in workload.sections
        if s not in SECTIONS
    ]
    for device, cases in workload.cases.items():
        for case in cases:
            found += unknown_parameters(workload, case, f"default case for {device}")
    return found


def unknown_parameters(workload: Workload, case: Parameters, where: str) -> list[str]:
    """Parameters of a case that the workload does not declare, with the nearest that it does."""
    import difflib

    found = []
    for key in case:
        if key not in workload.parameters:
            near = difflib.get_close_matches(key, list(workload.parameters), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            found.append(f"{where}: {workload.name} has no parameter {key!r}{hint}")
    return found


def load(path: Path) -> Workload:
    """Read a workload file.  Raises ConfigError naming the file and what is wrong with it."""
    if not path.is_file():
        raise ConfigError(
            "no such workload file", where=path, next_step="correct `workloads:` in config.yaml"
        )
    if path.suffix != ".py":
        raise ConfigError("a workload is a Python file, *.py", where=path, next_step="rename the file")
    make_importable(path)
    name = "kernel_ledger_workload_" + re.sub(r"\W", "_", path.stem)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and torch.compile look a class's module up by its name
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # a user's file may fail in any way; each is the same message to them
        del sys.modules[name]
        raise ConfigError(
            "this workload file cannot be imported",
            where=path,
            found=f"{type(error).__name__}: {error}",
            next_step="run `python` on the file to see the whole traceback",
        ) from error
    workload = getattr(module, "WORKLOAD", None)
    if workload is None:
        from .own_model import declared  # a file with nothing but a function that returns a model

        workload = declared(module, path)
    if not isinstance(workload, Workload):
        raise ConfigError(
            "WORKLOAD in this workload file is not a Workload",
            where=path,
            expected="WORKLOAD = kernel_ledger.workload.Workload(...)",
            found=type(workload).__name__,
            next_step="see workloads/linear_chain.py, or give a function `model` as workloads/template.py does",
        )
    if found := problems(workload):
        raise ConfigError("this workload cannot be used", where=path, found="; ".join(found))
    return workload
