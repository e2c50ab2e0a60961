"""The checks of one kernel.  Each yields results; a check that cannot be made here says why, and is no pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from .kernels import Kernel, Tensor, special_values

PASS, FAIL, NOT_RUN = "pass", "fail", "not_run"
SIZES = (0, 1, 3, 4, 1023, (1 << 20) + 1)
GIANT = (1 << 31) + 5  # elements: more than an int counts, and no multiple of a vector
GIANT_BYTES = 4 * 4 * GIANT  # two inputs, an output, and room
REFUSED = (torch.float64, torch.float16, torch.bfloat16, torch.int32)
RTOL, ATOL = 1e-5, 2e-6  # of float32 arithmetic against float64; 1 + tanh(u) cancels for negative u
CHUNK = 1 << 24
SPIN_NS = 20_000_000
SEED = 2026


@dataclass(frozen=True)
class Result:
    """One check.  ``error``: greatest |actual - expected| in units of the tolerance, None where nothing was compared."""

    kernel: str
    check: str
    size: int | None
    status: str
    error: float | None = None
    reason: str = ""


def check_kernel(kernel: Kernel, device: str, *, giant: bool) -> Iterator[Result]:
    """All checks of a kernel; ``giant``: also over 2^31 elements, which needs a GPU with memory for it."""
    if kernel.absent:
        yield Result(kernel.name, "all", None, NOT_RUN, reason=kernel.absent)
        return
    for size in SIZES:
        yield compared(kernel, "contiguous", values(kernel, size, device))
    for size in (1023, (1 << 20) + 1):
        for offset in (1, 2, 3, 4):  # floats: 4, 8 and 12 bytes off a 16-byte boundary, and on one
            yield compared(kernel, f"offset by {4 * offset} bytes", shifted(kernel, size, device, offset))
    yield compared(kernel, "special values", specials(kernel, device))
    yield compared(kernel, "shape with a zero", [x.reshape(0, 5) for x in values(kernel, 0, device)])
    yield compared(kernel, "three dimensions", [x.reshape(11, 3, 31) for x in values(kernel, 1023, device)])
    yield refused(
        kernel, "transposed", lambda: [x.view(32, 16).t() for x in values(kernel, 512, device)], "contiguous"
    )
    yield refused(
        kernel, "every second", lambda: [x[::2] for x in values(kernel, 1024, device)], "contiguous"
    )
    for dtype in REFUSED:
        yield refused(
            kernel, f"dtype {dtype}", lambda d=dtype: [x.to(d) for x in values(kernel, 64, device)], "float32"
        )
    if kernel.inputs == 2:
        yield refused(kernel, "two shapes", lambda: [torch.ones(n, device=device) for n in (4, 5)], "shape")
    if device == "cuda":
        yield on_a_stream(kernel)
        yield on_another_gpu(kernel)
    if giant:
        yield over_two_billion(kernel)
    else:
        yield Result(
            kernel.name,
            "over 2^31 elements",
            GIANT,
            NOT_RUN,
            reason="needs a GPU, and no sanitizer around it",
        )


def values(kernel: Kernel, size: int, device: str) -> list[Tensor]:
    """Inputs drawn on the CPU, so that under a sanitizer our kernels are nearly the only ones."""
    generator = torch.Generator().manual_seed(SEED + size)
    return [(torch.randn(size, generator=generator) * 3).to(device) for _ in range(kernel.inputs)]


def shifted(kernel: Kernel, size: int, device: str, offset: int) -> list[Tensor]:
    """Contiguous inputs whose first element is ``offset`` floats after an allocation's start."""
    return [x[offset:] for x in values(kernel, size + offset, device)]


def specials(kernel: Kernel, device: str) -> list[Tensor]:
    special = torch.tensor(special_values())
    return [
        special.to(device),
        *(torch.full_like(special, 0.25).to(device) for _ in range(kernel.inputs - 1)),
    ]


def compared(kernel: Kernel, check: str, inputs: list[Tensor]) -> Result:
    """One call against float64 on the CPU."""
    size = inputs[0].numel()
    try:
        output = kernel.call(*inputs)
        expected = kernel.exact(*(x.detach().cpu().double() for x in inputs))
    except (RuntimeError, ValueError) as error:
        return Result(kernel.name, check, size, FAIL, reason=first_line(error))
    if output.shape != inputs[0].shape or output.dtype != torch.float32:
        return Result(kernel.name, check, size, FAIL, reason=f"output {tuple(output.shape)} {output.dtype}")
    return judged(kernel, check, size, worst(output.cpu(), expected))


def judged(kernel: Kernel, check: str, size: int, error: float) -> Result:
    wrong = not error <= 1.0
    reason = f"an element is {error:.3g} times the tolerance away (rtol {RTOL}, atol {ATOL})" if wrong else ""
    return Result(kernel.name, check, size, FAIL if wrong else PASS, error, reason)


def worst(output: Tensor, expected: Tensor) -> float:
    """Greatest difference in units of the tolerance; infinite where one is NaN or infinite and the other is not."""
    actual, wanted = output.double(), expected.float().double()
    if not actual.numel():
        return 0.0
    equal = (actual == wanted) | (actual.isnan() & wanted.isnan())
    apart = torch.where(equal, 0.0, (actual - wanted).abs() / (ATOL + RTOL * wanted.abs()))
    return float(apart.nan_to_num(nan=float("inf")).max())


def refused(kernel: Kernel, check: str, make: Callable[[], list[Tensor]], word: str) -> Result:
    """What a kernel cannot take must be an error that says so, never a wrong result and never a hidden copy."""
    inputs = make()
    size = inputs[0].numel()
    try:
        kernel.call(*inputs)
    except (RuntimeError, ValueError, TypeError) as error:
        said = word in str(error)
        return Result(kernel.name, f"refuses {check}", size, PASS if said else FAIL,
                      reason="" if said else f"refused, but not for {word!r}: {first_line(error)}")  # fmt: skip
    return Result(kernel.name, f"refuses {check}", size, FAIL, reason="it was accepted")


def on_a_stream(kernel: Kernel) -> Result:
    """On a stream of its own: the input is filled there behind a kernel that spins; on any other stream it is still zero."""
    wanted = values(kernel, 1 << 20, "cuda")
    inputs = [torch.zeros_like(x) for x in wanted]
    counter = torch.zeros(1, dtype=torch.int32, device="cuda")
    kernel.call(*inputs)  # nothing is compiled or loaded later
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.ops.kernel_ledger.spin(counter, SPIN_NS, 1, 32)
        for x, values_of_x in zip(inputs, wanted, strict=True):
            x.copy_(values_of_x)
        output = kernel.call(*inputs)
    side.synchronize()
    expected = kernel.exact(*(x.cpu().double() for x in wanted))
    return judged(kernel, "on a stream of its own", output.numel(), worst(output.cpu(), expected))


def on_another_gpu(kernel: Kernel) -> Result:
    """Tensors of a GPU that is not the current one."""
    if torch.cuda.device_count() < 2:
        return Result(kernel.name, "on another GPU", None, NOT_RUN, reason="there is one GPU")
    return compared(kernel, "on another GPU", values(kernel, 1023, "cuda:1"))


def over_two_billion(kernel: Kernel) -> Result:
    """More elements than a 32-bit index counts; compared on the GPU, piece by piece."""
    check = "over 2^31 elements"
    free, _ = torch.cuda.mem_get_info()
    if free < GIANT_BYTES:
        return Result(
            kernel.name, check, GIANT, NOT_RUN, reason=f"needs {GIANT_BYTES >> 30} GiB of free GPU memory"
        )
    generator = torch.Generator("cuda").manual_seed(SEED)
    inputs = [torch.randn(GIANT, generator=generator, device="cuda") for _ in range(kernel.inputs)]
    output = kernel.call(*inputs)
    most = 0.0
    for parts in zip(output.split(CHUNK), *(x.split(CHUNK) for x in inputs), strict=True):
        actual, *pieces = parts
        most = max(most, worst(actual, kernel.exact(*(x.double() for x in pieces))))
    return judged(kernel, check, GIANT, most)


def first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200]}"


def check_ruler(device: str) -> Iterator[Result]:
    """The ruler's kernels: they count, so that their results are known exactly."""
    if device == "cpu":
        yield Result("ruler", "all", None, NOT_RUN, reason="needs a GPU")
        return
    counter = torch.zeros(1, dtype=torch.int32, device=device)
    torch.ops.kernel_ledger.tick(counter, 200)
    yield Result("ruler_tick", "counts its launches", 1, PASS if int(counter) == 200 else FAIL)
    for size in (0, 1, 15, 16, 17, 1023, (1 << 20) + 5):
        buffer = torch.zeros(size, dtype=torch.uint8, device=device)
        torch.ops.kernel_ledger.touch(buffer, 64, 256)
        words = torch.zeros(size // 16 * 4, dtype=torch.int32) + 1
        expected = torch.cat([words.view(torch.uint8), torch.ones(size % 16, dtype=torch.uint8)])
        yield Result(
            "ruler_touch",
            "adds one to each word",
            size,
            PASS if torch.equal(buffer.cpu(), expected) else FAIL,
        )
