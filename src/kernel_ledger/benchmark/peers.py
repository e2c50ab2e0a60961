"""One measurement of another library, by the Python that has it: python peers.py WHAT FILE.

Imports nothing of kernel_ledger.  Prints a line of JSON as readers.py does.
"""

from __future__ import annotations

import json
import sys
import time


def hta(file: str) -> tuple[float, int, int]:
    """Holistic Trace Analysis: its reading and its kernel breakdown."""
    from hta.trace_analysis import TraceAnalysis

    begun = time.perf_counter()
    kernels = TraceAnalysis(trace_files={0: file}, trace_dir=".").get_gpu_kernel_breakdown(visualize=False)[1]
    seconds = time.perf_counter() - begun
    return seconds, 0, round(float(kernels["sum (us)"].sum()) * 1000)


def pandas(file: str) -> tuple[float, int, int]:
    """json and pandas, as in a notebook: kernels grouped by name."""
    import pandas as pd

    begun = time.perf_counter()
    with open(file) as stream:
        frame = pd.DataFrame(json.load(stream)["traceEvents"])
    kernels = frame[frame["cat"] == "kernel"]
    table = kernels.groupby("name")["dur"].agg(["count", "sum", "median", "min", "max", "std"])
    seconds = time.perf_counter() - begun
    return seconds, int(table["count"].sum()), round(float(table["sum"].sum()) * 1000)


def key_averages(events: str) -> tuple[float, int, int]:
    """torch.profiler's own events() and key_averages(), of as many events as it records itself on the CPU."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    small = torch.ones(1)
    with profile(activities=[ProfilerActivity.CPU], acc_events=True) as profiler:
        for _ in range(int(events)):
            small.add(1)
    begun = time.perf_counter()
    rows = profiler.key_averages()
    return time.perf_counter() - begun, len(rows), 0


if __name__ == "__main__":
    seconds, kernels, total_ns = {"hta": hta, "pandas": pandas, "key_averages": key_averages}[sys.argv[1]](
        sys.argv[2]
    )
    print(json.dumps({"seconds": seconds, "kernels": kernels, "total_ns": total_ns}))
