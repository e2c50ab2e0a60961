"""Pass timing: every variant and reference in alternating rounds, no profiler in the process.

Timer: CUDA events on a GPU (resolution about 0.5 us), perf_counter_ns on a CPU.  Writes timing.json with all
samples in integer nanoseconds.  On a GPU, afterwards, also by the host's clock: what a call costs from an idle GPU to
an idle GPU, launch and wait included.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

from ..files import write_json
from .common import Session, open_session, output_hashes, probe_clean, progress, write_child

NS_PER_MS = 1_000_000
EVENT_RESOLUTION_NS = 500
PROGRESS_S = 5.0
LEAST_FLUSH_BYTES = 64 << 20
# standard error of a median from the MAD, for a normal distribution: sqrt(pi / 2) * 1.4826 * MAD / sqrt(n)
MAD_TO_MEDIAN_ERROR = math.sqrt(math.pi / 2) * 1.4826


def run(request: Mapping[str, Any], warnings: list[dict[str, str]]) -> None:
    session = open_session(request, warnings)
    session.warm_up()
    probe = probe_clean(session)
    limits = request["timing"]
    flush = l2_flush(session) if limits["flush_l2"] else None
    measure = cuda_round if session.on_cuda else cpu_round
    samples, stopped = rounds(session, limits, lambda order: measure(session.calls, order, flush))
    variants = {name: entry(values, stopped[name]) for name, values in samples.items()}
    if session.on_cuda:
        for name, trials in wall_clock(session, limits["min_samples"]).items():
            variants[name] |= {"wall_samples_ns": trials, "wall_median_ns": statistics.median(trials)}
    payload = {
        "format": 1,
        "variants": variants,
        "order": "alternating rounds, each begun by another variant",
        "flush_l2": flush is not None,
        "timer": "cuda_event" if session.on_cuda else "perf_counter",
        "resolution_ns": EVENT_RESOLUTION_NS if session.on_cuda else 1,
    }
    name = session.file("timing.json")
    write_json(session.output / name, payload)
    write_child(session, probe=probe, output_sha256=output_hashes(session), files=[name])


def rounds(
    session: Session, limits: Mapping[str, Any], measure: Callable[[list[str]], dict[str, int]]
) -> tuple[dict[str, list[int]], dict[str, str]]:
    """Measure rounds until the noise of every variant is under the limit, or time or samples are used up.

    Returns all samples in ns, and why each variant's measuring stopped: "noise", "time" or "samples".
    """
    names = list(session.calls)
    samples: dict[str, list[int]] = {name: [] for name in names}
    started = said = time.monotonic()
    ending = None
    session.group.barrier()
    while ending is None:
        count = len(samples[names[0]])
        shift = count % len(names)
        for name, nanoseconds in measure(names[shift:] + names[:shift]).items():
            samples[name].append(nanoseconds)
        now, count = time.monotonic(), count + 1
        if count >= limits["min_samples"] and all(is_quiet(samples[n], limits["noise_pct"]) for n in names):
            ending = "noise"
        elif now - started >= limits["max_seconds"]:
            ending = "time"
        elif count >= limits["max_samples"]:
            ending = "samples"
        ending = session.group.agreed(ending)  # a rank that stopped alone would leave the others waiting
        if now - said >= PROGRESS_S and session.group.first:
            said = now
            progress(f"timing: {count} rounds in {now - started:.0f} s")
    quiet = {name: is_quiet(values, limits["noise_pct"]) for name, values in samples.items()}
    return samples, {name: "noise" if quiet[name] else ending for name in names}


def is_quiet(samples: list[int], noise_pct: float) -> bool:
    noise = noise_percent(samples)
    return noise is not None and noise <= noise_pct


def noise_percent(samples: list[int]) -> float | None:
    """Standard error of the median, from the MAD, in percent of the median; None for fewer than 3 samples."""
    middle = statistics.median(samples)
    if len(samples) < 3 or not middle:
        return None
    return 100 * MAD_TO_MEDIAN_ERROR * mad(samples) / math.sqrt(len(samples)) / middle


def mad(samples: list[int]) -> float:
    """Median absolute deviation from the median."""
    middle = statistics.median(samples)
    return statistics.median(abs(sample - middle) for sample in samples)


def entry(samples: list[int], stopped: str) -> dict[str, Any]:
    return {
        "samples_ns": samples,
        "median_ns": statistics.median(samples),
        "mad_ns": mad(samples),
        "noise_pct": noise_percent(samples),
        "stopped": stopped,
    }


def cuda_round(
    calls: Mapping[str, Callable[[], Any]], order: list[str], flush: Callable[[], Any] | None
) -> dict[str, int]:
    """One sample of each variant, queued together: the GPU is never idle when a sample begins.

    The round begins with an untimed call of its last variant, behind which the first launches are queued.
    """
    events = {name: [torch.cuda.Event(enable_timing=True) for _ in range(2)] for name in order}
    calls[order[-1]]()
    for name in order:
        if flush is not None:
            flush()
        start, end = events[name]
        start.record()
        calls[name]()
        end.record()
    torch.cuda.synchronize()
    return {name: round(start.elapsed_time(end) * NS_PER_MS) for name, (start, end) in events.items()}


def cpu_round(
    calls: Mapping[str, Callable[[], Any]], order: list[str], flush: Callable[[], Any] | None
) -> dict[str, int]:
    """One sample of each variant on the CPU."""
    samples = {}
    for name in order:
        started = time.perf_counter_ns()
        calls[name]()
        samples[name] = time.perf_counter_ns() - started
    return samples


def wall_clock(session: Session, trials: int) -> dict[str, list[int]]:
    """So many calls of each variant in alternating rounds, by the host's clock, the GPU idle before and after each."""
    samples: dict[str, list[int]] = {name: [] for name in session.calls}
    for _ in range(trials):
        for name, call in session.calls.items():
            session.synchronize()
            started = time.perf_counter_ns()
            call()
            session.synchronize()
            samples[name].append(time.perf_counter_ns() - started)
    return samples


def l2_flush(session: Session) -> Callable[[], Any] | None:
    """A write of twice the L2, to be queued before a sample; None on a CPU."""
    if not session.on_cuda:
        return None
    cache = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
    buffer = torch.empty(max(2 * cache, LEAST_FLUSH_BYTES), dtype=torch.uint8, device="cuda")
    return buffer.zero_
