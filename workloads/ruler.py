"""ruler: kernels of which everything is known before they run, so that the profilers can be judged by them.

No output and nothing to compare: each variant's launches, grid, block, bytes and least duration are in
``expectations``, and both books must show them.  CUDA only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kernel_ledger.workload import Context, Expectation, Parameters, Variant, Workload

SPIN_NS, SPIN_BLOCKS, SPIN_THREADS = 1_000_000, 8, 128
SPIN_SHORT_NS, SPIN_SHORT_BLOCKS, SPIN_SHORT_THREADS = 50_000, 1, 32
TOUCH_BYTES, TOUCH_BLOCKS, TOUCH_THREADS = 1 << 30, 4224, 256
MANY_LAUNCHES = 200

# The profilers' clock and the GPU's global timer may differ by parts in a million; 0.1 % is far above that.
CLOCK_MARGIN = 0.001


def build(parameters: Parameters, context: Context) -> dict[str, Any]:
    """A buffer to touch and a counter that counts its own launches, both zero."""
    import torch

    return {
        "buffer": torch.zeros(TOUCH_BYTES, dtype=torch.uint8, device=context.device),
        "counter": torch.zeros(1, dtype=torch.int32, device=context.device),
    }


def spinning(nanoseconds: int, blocks: int, threads: int) -> Callable[..., Callable[[], None]]:
    """The ``make`` of a variant that spins."""

    def make(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Callable[[], None]:
        import torch

        counter = inputs["counter"]
        return lambda: torch.ops.kernel_ledger.spin(counter, nanoseconds, blocks, threads)

    return make


def make_touch(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Callable[[], None]:
    import torch

    buffer = inputs["buffer"]
    return lambda: torch.ops.kernel_ledger.touch(buffer, TOUCH_BLOCKS, TOUCH_THREADS)


def make_many(parameters: Parameters, context: Context, inputs: Mapping[str, Any]) -> Callable[[], None]:
    """So many launches in a call that a profiler which loses records shows it."""
    import torch

    counter = inputs["counter"]
    return lambda: torch.ops.kernel_ledger.tick(counter, MANY_LAUNCHES)


def expectations(parameters: Parameters, context: Context) -> dict[str, list[Expectation]]:
    """What both books must show; asks the GPU for its memory's peak rate and the size of its L2."""
    import torch

    if context.library:
        torch.ops.load_library(str(context.library))
    peak = torch.ops.kernel_ledger.peak_bandwidth(torch.empty(0, device=context.device))
    cache = torch.cuda.get_device_properties(context.device).L2_cache_size
    return {
        "spin": [_spin(SPIN_NS, SPIN_BLOCKS, SPIN_THREADS)],
        "spin_short": [_spin(SPIN_SHORT_NS, SPIN_SHORT_BLOCKS, SPIN_SHORT_THREADS)],
        "touch": [
            Expectation(
                kernel="ruler_touch",
                launches=1,
                grid=(TOUCH_BLOCKS, 1, 1),
                block=(TOUCH_THREADS, 1, 1),
                least_ns=least_touch_ns(TOUCH_BYTES, cache, peak),
                bytes=2 * TOUCH_BYTES,
            )
        ],
        "many": [Expectation("ruler_tick", MANY_LAUNCHES, grid=(1, 1, 1), block=(1, 1, 1), least_ns=0)],
    }


def least_touch_ns(size: int, cache: int, peak: int) -> int:
    """Least ns to read and write ``size`` bytes, at ``peak`` bytes/s and with ``cache`` bytes of L2.

    Up to one L2 of what is read may still lie there from the call before, and up to one L2 of what is written
    may stay there at the end; no other margin.  0 (no bound) where the GPU does not tell its peak.
    """
    moved = max(0, 2 * size - 2 * cache)
    return moved * 1_000_000_000 // peak if peak else 0


def _spin(nanoseconds: int, blocks: int, threads: int) -> Expectation:
    least = int(nanoseconds * (1 - CLOCK_MARGIN))
    return Expectation("ruler_spin", 1, grid=(blocks, 1, 1), block=(threads, 1, 1), least_ns=least)


WORKLOAD = Workload(
    name="ruler",
    parameters={},
    cases={"cuda": [{}]},
    build=build,
    expectations=expectations,
    variants=[
        Variant(
            "spin",
            spinning(SPIN_NS, SPIN_BLOCKS, SPIN_THREADS),
            launches=1,
            kernels={"ruler_spin": 1},
            needs=("extension", "cuda"),
        ),
        Variant(
            "spin_short",
            spinning(SPIN_SHORT_NS, SPIN_SHORT_BLOCKS, SPIN_SHORT_THREADS),
            launches=1,
            kernels={"ruler_spin": 1},
            needs=("extension", "cuda"),
        ),
        Variant("touch", make_touch, launches=1, kernels={"ruler_touch": 1}, needs=("extension", "cuda")),
        Variant(
            "many",
            make_many,
            launches=MANY_LAUNCHES,
            kernels={"ruler_tick": MANY_LAUNCHES},
            needs=("extension", "cuda"),
        ),
    ],
)
