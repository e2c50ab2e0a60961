"""Small traces of the real torch.profiler on the CPU, made in a process of their own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from kernel_ledger import process
from kernel_ledger.environment import allowed

PROGRAM = """
import sys
import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule
name, path, cycles = sys.argv[1], sys.argv[2], int(sys.argv[3])
options = {"schedule": schedule(wait=0, warmup=0, active=1)} if cycles else {}
with profile(activities=[ProfilerActivity.CPU], on_trace_ready=lambda p: p.export_chrome_trace(path), **options) as p:
    for _ in range(10):
        with record_function(name):
            torch.ones(4).add(1)
        if cycles:
            p.step()
"""


def trace(folder: Path, name: str, *, cycles: bool = False) -> Path:
    """Ten calls inside a range of this name, or in ten cycles of one call; a visible skip without torch."""
    pytest.importorskip("torch")
    path = folder / "real.json"
    command = [sys.executable, "-c", PROGRAM, name, path, str(int(cycles))]
    done = process.run(command, environment=allowed(os.environ), timeout_s=100)
    assert path.is_file(), done.output
    return path
