"""Variants that compute something else, or not the same in every pass."""

from __future__ import annotations

from .bench import Bench
from .fault import Fault, declare

FAULTS: list[Fault] = []
fault = declare(FAULTS)


def numeric(bench: Bench, **fields: object) -> None:
    with bench.json("numerics.json") as value:
        value["variants"]["fused"].update(fields)


@fault(
    "wrong-values", "A faster variant computes something else",
    "A missing bias, a fast-math flag or a race: the time is right, the result is not.",
    "numerics", "fail", "fused disagrees with eager: at index [3, 17] it has 0.25, expected 0.5", "mend the variant",
    row=("kernel", "fused", "fused_chain", "unknown"),
)  # fmt: skip
def wrong_values(bench: Bench) -> None:
    """numerics.json names the first element of fused that is out of tolerance, with both values."""
    numeric(bench, agrees=False, first_disagreement={"index": [3, 17], "value": 0.25, "expected": 0.5})


@fault(
    "nan-output", "A variant's output has NaN",
    "NaN compares false with everything, so a comparison written as `difference > limit` lets it pass.",
    "numerics", "fail", "3 of its elements are NaN",
)  # fmt: skip
def nan_output(bench: Bench) -> None:
    """numerics.json counts three NaN in fused, and claims that it agrees."""
    numeric(bench, nan_count=3)


@fault(
    "other-output-shape", "A variant returns another shape",
    "Broadcasting makes [n] and [1, n] compare equal element by element.",
    "numerics", "fail", "its shape is [1, 1024], expected [1024]",
)  # fmt: skip
def other_output_shape(bench: Bench) -> None:
    """numerics.json has fused's shape as [1, 1024]."""
    numeric(bench, shape=[1, 1024])


@fault(
    "other-dtype", "A variant returns another dtype",
    "Half the bytes make half the time: a variant in float16 beside a float32 one.",
    "numerics", "fail", "its dtype is float16, expected float32",
)  # fmt: skip
def other_dtype(bench: Bench) -> None:
    """numerics.json has fused's dtype as float16."""
    numeric(bench, dtype="float16")


@fault(
    "other-bytes", "A variant's output is not the same in all passes",
    "The variant that was checked is not the one that was timed: another algorithm, a race, or atomics.",
    "numerics", "fail", "fused gave different bytes", "atomics",
)  # fmt: skip
def other_bytes(bench: Bench) -> None:
    """The torch pass of fused recorded another hash of its output."""
    with bench.json("torch/fused/run.json") as record:
        record["output_sha256"]["fused"] = "ee" * 32


@fault(
    "other-bytes-of-a-copy", "A reference's output is not the same in all passes",
    "The yardstick copied other data, or not all of it.",
    "numerics", "fail", "copy gave different bytes",
)  # fmt: skip
def other_bytes_of_a_copy(bench: Bench) -> None:
    """The nsys pass recorded another hash of the output of copy."""
    with bench.json("nsys/run.json") as record:
        record["output_sha256"]["copy"] = "ee" * 32


@fault(
    "tf32-on", "TF32 is on in one pass",
    "A workload or an environment variable switches it on: float32 products of ten bits, several times faster.",
    "numerics", "fail", "TF32 was on in timing",
)  # fmt: skip
def tf32_on(bench: Bench) -> None:
    """The timing pass recorded torch.backends.cuda.matmul.allow_tf32 as true."""
    with bench.json("run.json") as record:
        record["tf32"] = {"matmul_allow_tf32": True, "float32_matmul_precision": "high"}


@fault(
    "looser-tolerance", "The numerics were checked with another tolerance than the plan's",
    "numerics.json of an earlier, more lenient run is kept.",
    "numerics", "fail", "other tolerances than the plan's",
)  # fmt: skip
def looser_tolerance(bench: Bench) -> None:
    """numerics.json was made with rtol 1e-2."""
    with bench.json("numerics.json") as value:
        value["rtol"] = 1e-2


@fault(
    "variant-not-compared", "A variant was timed and never compared",
    "It is added to the workload after the numerics pass.",
    "numerics", "unknown", "fused was not compared",
)  # fmt: skip
def variant_not_compared(bench: Bench) -> None:
    """numerics.json has no entry for fused."""
    with bench.json("numerics.json") as value:
        del value["variants"]["fused"]


@fault(
    "numerics-missing", "There is no result of the numerics pass",
    "It failed, or its file was removed.",
    "numerics", "unknown", "numerics.json: ", "missing", also="freshness",
)  # fmt: skip
def numerics_missing(bench: Bench) -> None:
    """numerics.json is removed."""
    (bench.case / "numerics.json").unlink()
