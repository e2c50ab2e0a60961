"""Pass nsys: what `nsys profile` records: all variants, each one's iterations back to back, between
cudaProfilerStart and cudaProfilerStop.

The outputs are hashed, and child.json is written, before the range ends: its end may stop this process.  One report
holds all ranks of a group: the first of them begins and ends the range, while all wait for it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import nvtx
import torch

from ..request import range_name
from . import cupti
from .common import Session, open_session, output_hashes, write_child

DOMAIN = "kernel_ledger"
SETTLE_S = 2.0


def run(request: Mapping[str, Any], warnings: list[dict[str, str]]) -> None:
    session = open_session(request, warnings)
    session.warm_up()
    hashes = output_hashes(session)
    session.synchronize()
    before = cupti.probe(session.context.device)
    probe = before
    session.group.barrier()
    if session.on_cuda:
        if session.group.first:
            torch.cuda.profiler.start()
        settle(session)
        if before["result"] != cupti.MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:  # an nsys that subscribes only now
            probe = cupti.probe(session.context.device)
    with operator_ranges(request, warnings):
        for variant, call in session.calls.items():
            name = range_name(request, variant)
            for _ in range(request["iterations"]):
                with nvtx.annotate(message=name, domain=DOMAIN):
                    call()
            session.synchronize()
            session.group.barrier()
    probe = {**probe, "result_before_range": before["result"]}
    write_child(session, probe=probe, output_sha256=hashes, files=[])
    session.group.barrier()
    if session.on_cuda and session.group.first:
        torch.cuda.profiler.stop()


def settle(session: Session) -> None:
    """Wait until nsys records every rank: one rank starts it, and nsys tells the other processes in its own time.

    Nothing tells a process that nsys has begun with it, so the time is generous; what was lost all the same shows in
    that rank's counts.
    """
    session.group.barrier()
    if session.group.size > 1:
        time.sleep(SETTLE_S)
        session.group.barrier()


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
