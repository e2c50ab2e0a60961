"""What every pass does: load the workload, fix the arithmetic, build inputs and variants, say what ran."""

from __future__ import annotations

import hashlib
import math
import os
import random
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from ..errors import ConfigError, MachineError, PassError
from ..files import write_json
from ..ranks.naming import ranked
from ..request import PROBE, announcements
from ..workload import Context, Workload, load, source_hash
from . import cupti
from .facts import gpu, tf32_state, versions
from .group import ALONE, Group, join

FORMAT = 1  # of child.json
HASH_ELEMENTS = 1 << 24


@dataclass
class Session:
    """A workload made ready: ``calls`` maps each requested variant to a callable, in order of execution."""

    request: Mapping[str, Any]
    workload: Workload
    context: Context
    inputs: Any
    calls: dict[str, Callable[[], Any]]
    expectations: dict[str, list[dict[str, Any]]]
    warnings: list[dict[str, str]]
    norms: dict[str, dict[str, float]] = field(default_factory=dict)
    group: Group = ALONE

    @property
    def output(self) -> Path:
        return Path(self.request["output"])

    @property
    def on_cuda(self) -> bool:
        return self.context.device == "cuda"

    def file(self, name: str) -> str:
        """The name of a file that each rank writes for itself."""
        return ranked(name, self.group.rank)

    def synchronize(self) -> None:
        if self.on_cuda:
            torch.cuda.synchronize()

    def warm_up(self) -> None:
        """Run every variant ``warmup`` times, at least once, so that nothing is compiled or chosen later."""
        for call in self.calls.values():
            for _ in range(max(1, self.request["warmup"])):
                call()
        self.synchronize()


def open_session(request: Mapping[str, Any], found: list[dict[str, str]]) -> Session:
    """Build inputs and variants on the requested device; ``found``: warnings so far, joined by later ones."""
    _collect_warnings(found)
    if request["device"] == "cuda" and not torch.cuda.is_available():
        raise MachineError(
            "torch sees no CUDA GPU",
            found=f"torch {torch.__version__}, built for CUDA {torch.version.cuda}",
            next_step="install a CUDA build of torch, or run with `--config device=cpu`",
        )
    fix_arithmetic(request["seed"])
    group = join(request)
    workload = load(Path(request["workload_file"]))
    library = None if request["library"] is None else Path(request["library"]).resolve()
    if library is not None:
        torch.ops.load_library(str(library))
    context = Context(request["device"], request["seed"], library, group.rank, group.size)
    inputs = workload.build(request["parameters"], context)
    calls = {}
    for name in request["variants"]:
        variant = workload.variant(name)
        if "extension" in variant.needs and library is None:
            raise ConfigError(f"variant {name!r} needs the built extension, and none was given")
        calls[name] = variant.make(request["parameters"], context, inputs)
    known = expectations(request, workload, context)
    return Session(request, workload, context, inputs, calls, known, found, group=group)


def _collect_warnings(found: list[dict[str, str]]) -> None:
    """Python warnings become data; they still go to standard error."""
    show = warnings.showwarning

    def collect(message: Any, category: type, filename: str, lineno: int, *rest: Any) -> None:
        found.append({"source": f"python {category.__name__}", "text": str(message)})
        show(message, category, filename, lineno, *rest)

    warnings.showwarning = collect


def fix_arithmetic(seed: int) -> None:
    """Seed every generator, switch TF32 off in the old way and in the new one, and record no gradients."""
    random.seed(seed)
    torch.manual_seed(seed)
    torch.set_grad_enabled(False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # each way warns that there is another
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        torch.set_float32_matmul_precision("highest")
        if hasattr(torch.backends.cuda.matmul, "fp32_precision"):  # torch 2.9 and later
            torch.backends.cuda.matmul.fp32_precision = "ieee"
            torch.backends.cudnn.conv.fp32_precision = "ieee"
            torch.backends.cudnn.rnn.fp32_precision = "ieee"


def probe_clean(session: Session) -> dict[str, Any]:
    """The CUPTI probe of a pass that must be alone.  Raises PassError before anything is measured.

    What was found then stands in probe.json, which the collision control reads.
    """
    session.synchronize()
    probe = cupti.probe(session.context.device)
    if probe["result"] == cupti.MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED or probe["injection"]:
        write_json(session.output / PROBE, probe)
        raise PassError(
            f"another profiler is in the process of this clean {session.request['pass']} pass",
            expected="cuptiSubscribe gives 0, and no injection variable is set",
            found=f"{probe['reason'] or 'cuptiSubscribe gave 0'}; variables: {probe['injection'] or 'none'}",
            next_step="run snakemake outside nsys, ncu and other profilers; they cannot share CUPTI",
        )
    return probe


def tensors(output: Any) -> list[torch.Tensor]:
    """The tensors of a call's output: one, a tuple of them, or none."""
    if output is None:
        return []
    return list(output) if isinstance(output, tuple | list) else [output]


def chunks(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """A tensor's elements in order, at most 16 Mi at a time, so that temporaries stay small."""
    yield from tensor.detach().reshape(-1).split(HASH_ELEMENTS)


def widest(tensor: torch.Tensor) -> torch.Tensor:
    """The values as numbers that arithmetic does not round any further: complex128 where they are complex, else float64."""
    return tensor.to(torch.complex128) if tensor.is_complex() else tensor.double()


def output_sha256(output: Any) -> str | None:
    """SHA-256 of the bytes of an output (its tensors one after the other), None for no output."""
    parts = tensors(output)
    if not parts:
        return None
    digest = hashlib.sha256()
    for part in parts:
        for chunk in chunks(part):
            digest.update(memoryview(chunk.cpu().contiguous().view(torch.uint8).numpy()))
    return digest.hexdigest()


def output_norms(output: Any) -> dict[str, float]:
    """Three sums over an output in float64: of magnitudes, of squares (its root), and with alternating signs.

    They say whether two outputs are near each other where atomics forbid equal bytes.
    """
    magnitude = squares = alternating = 0.0
    for part in tensors(output):
        for chunk in chunks(part):
            values = torch.view_as_real(chunk).reshape(-1) if chunk.is_complex() else chunk
            values = values.double()
            magnitude += values.abs().sum().item()
            squares += values.square().sum().item()
            alternating += (values[::2].sum() - values[1::2].sum()).item()
    return {"l1": magnitude, "l2": math.sqrt(squares), "alternating": alternating}


def output_hashes(session: Session) -> dict[str, str]:
    """One more call of each variant, hashed; variants without output are left out.

    Of a variant that states a tolerance for its output the norms are kept in the session as well.
    """
    hashes = {}
    for name, call in session.calls.items():
        output = call()
        digest = output_sha256(output)
        if digest is None:
            continue
        hashes[name] = digest
        keep_norms(session, name, output)
    return hashes


def keep_norms(session: Session, name: str, output: Any) -> None:
    """Note the norms of an output whose bytes may differ from pass to pass."""
    if session.workload.variant(name).output_rtol is not None:
        session.norms[name] = output_norms(output)


def expectations(request: Mapping[str, Any], workload: Workload, context: Context) -> dict[str, list[dict]]:
    """What the workload knows beforehand of its kernels, for the variants of this pass."""
    if workload.expectations is None:
        return {}
    known = workload.expectations(request["parameters"], context)
    return {v: [asdict(e) for e in known[v]] for v in request["variants"] if v in known}


def write_child(
    session: Session,
    *,
    probe: Mapping[str, Any],
    output_sha256: Mapping[str, str],
    files: list[str],
) -> None:
    """Write child.json, the pass's result channel: the request as it was understood, and what was found.

    In a group the first rank writes it for all; ``ranks`` then holds what each found of itself.
    """
    request, group = session.request, session.group
    ranks = group.gather(
        {
            "rank": group.rank,
            "pid": os.getpid(),
            "gpu": gpu() if session.on_cuda else None,
            "probe": probe,
            "tf32": tf32_state(),
            "output_sha256": output_sha256,
            "output_norms": session.norms,
            "warnings": session.warnings,
            "files": files,
        }
    )
    if not group.first:
        return
    write_json(
        session.output / "child.json",
        {
            "format": FORMAT,
            "request": request,
            "versions": versions(probe),
            "gpu": gpu() if session.on_cuda else None,
            "tf32": tf32_state(),
            "workload_sha256": source_hash(Path(request["workload_file"])),
            "probe": probe,
            "announced": announcements(request),
            "output_sha256": output_sha256,
            "output_norms": session.norms,
            "expectations": session.expectations,
            "warnings": [warning for told in ranks for warning in told["warnings"]],
            "files": [name for told in ranks for name in told["files"]],
            "ranks": [] if group.control is None else ranks,
        },
    )


def progress(text: str) -> None:
    """A line for the person who waits; the launcher passes it on."""
    print(f"    {text}", file=sys.stderr, flush=True)
