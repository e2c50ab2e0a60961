"""Pass nsys: what `nsys profile` records: all variants, each one's iterations back to back, between
cudaProfilerStart and cudaProfilerStop.

The outputs are hashed, and child.json is written, before the range ends: its end may stop this process.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import nvtx
import torch

from ..request import range_name
from . import cupti
from .common import open_session, output_hashes, write_child

DOMAIN = "kernel_ledger"


def run(request: Mapping[str, Any], warnings: list[dict[str, str]]) -> None:
    session = open_session(request, warnings)
    session.warm_up()
    hashes = output_hashes(session)
    session.synchronize()
    before = cupti.probe(session.context.device)
    probe = before
    if session.on_cuda:
        torch.cuda.profiler.start()
        if before["result"] != cupti.MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:  # an nsys that subscribes only now
            probe = cupti.probe(session.context.device)
    with operator_ranges(request, warnings):
        for variant, call in session.calls.items():
            name = range_name(request, variant)
            for _ in range(request["iterations"]):
                with nvtx.annotate(message=name, domain=DOMAIN):
                    call()
            session.synchronize()
    probe = {**probe, "result_before_range": before["result"]}
    write_child(session, probe=probe, output_sha256=hashes, files=[])
    if session.on_cuda:
        torch.cuda.profiler.stop()


def operator_ranges(
    request: Mapping[str, Any], warnings: list[dict[str, str]]
) -> AbstractContextManager[Any]:
    """torch's own range for each operator, in the default domain, where nsys.emit_nvtx asks for it."""
    if not request["emit_nvtx"]:
        return nullcontext()
    if request["device"] != "cuda":
        warnings.append({"source": "emit_nvtx", "text": "left out: torch emits ranges on CUDA only"})
        return nullcontext()
    return torch.autograd.profiler.emit_nvtx(record_shapes=True)
