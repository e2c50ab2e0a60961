"""Pass numerics: every variant once, against the first variant and against the float64 reference.

It also fills the compile cache, so that no later pass measures a compiler.  Writes numerics.json, and
dataflow.json with what each operator reads and writes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from ..files import write_json
from . import dataflow
from .common import (
    Session,
    chunks,
    keep_norms,
    open_session,
    output_sha256,
    probe_clean,
    progress,
    tensors,
    widest,
    write_child,
)


def run(request: Mapping[str, Any], warnings: list[dict[str, str]]) -> None:
    session = open_session(request, warnings)
    probe = probe_clean(session)
    roles = {v.name: v.role for v in session.workload.variants}
    reference = reference_tensors(session)
    entries: dict[str, dict[str, Any]] = {}
    expected: list[torch.Tensor] | None = None
    for name, call in session.calls.items():
        output = call()
        session.synchronize()
        if roles[name] == "reference":  # run for the compile cache alone; a copy agrees with nothing
            continue
        parts = [part.detach() for part in tensors(output)]
        if expected is None:
            expected = [part.clone() for part in parts]  # a variant may write into the same tensor again
        entry = describe(parts, session.workload.clamp)
        entry |= {"sha256": output_sha256(output), **errors(parts, reference)}
        keep_norms(session, name, output)
        entry |= agreement(parts, expected, request["tolerance"]["rtol"], request["tolerance"]["atol"])
        entries[name] = entry
        if session.group.first:
            progress(summary_line(name, entry))
    payload = {
        "format": 1,
        **request["tolerance"],
        "tf32": False,
        "baseline": next(iter(entries), None),
        "variants": entries,
    }
    write_json(session.output / session.file("numerics.json"), payload)
    flow, files = (
        dataflow.payload(session),
        [session.file("numerics.json")],
    )  # by all ranks: calls are collective
    if session.group.first:
        write_json(session.output / "dataflow.json", flow)
        files.append("dataflow.json")
    hashes = {name: entry["sha256"] for name, entry in entries.items() if entry["sha256"]}
    write_child(session, probe=probe, output_sha256=hashes, files=files)


def reference_tensors(session: Session) -> list[torch.Tensor] | None:
    """The float64 reference, or None where the workload gives none."""
    if session.workload.reference is None:
        return None
    output = session.workload.reference(session.request["parameters"], session.context, session.inputs)
    return tensors(output) or None


def describe(parts: list[torch.Tensor], clamp: tuple[float, float] | None) -> dict[str, Any]:
    """Shape, dtype, NaNs, and how many elements stand at the limits of the workload's clamp."""
    shapes, dtypes = [list(part.shape) for part in parts], [str(part.dtype) for part in parts]
    counts = {"nan_count": 0, "clamped_low": 0, "clamped_high": 0}
    for part in parts:
        for chunk in chunks(part):
            counts["nan_count"] += int(torch.isnan(chunk).sum())
            if clamp is not None:
                counts["clamped_low"] += int((chunk <= clamp[0]).sum())
                counts["clamped_high"] += int((chunk >= clamp[1]).sum())
    if clamp is None:
        counts["clamped_low"] = counts["clamped_high"] = None
    one = len(parts) == 1
    return {"shape": shapes[0] if one else shapes, "dtype": dtypes[0] if one else dtypes, **counts}


def errors(parts: list[torch.Tensor], reference: list[torch.Tensor] | None) -> dict[str, float | None]:
    """Relative L2 norm and greatest size of the error, in float64; None without a reference or with NaN."""
    none = {"error_l2": None, "error_max": None}
    if reference is None or [p.shape for p in parts] != [r.shape for r in reference]:
        return none
    square, scale, most = 0.0, 0.0, 0.0
    for part, true in zip(parts, reference, strict=True):
        for actual, wanted in zip(chunks(part), chunks(true), strict=True):
            wanted = widest(wanted)
            difference = (widest(actual) - wanted).abs()
            square += float(difference.square().sum())
            scale += float(wanted.abs().square().sum())
            if difference.numel():
                most = max(most, float(difference.max()))
    # a NaN is in the sum of squares too, where Python's max may have lost it
    relative = math.sqrt(square / scale) if scale else math.sqrt(square)
    if not (math.isfinite(relative) and math.isfinite(most)):
        return none
    return {"error_l2": relative, "error_max": most}


def agreement(
    parts: list[torch.Tensor], expected: list[torch.Tensor], rtol: float, atol: float
) -> dict[str, Any]:
    """Whether |actual - expected| <= atol + rtol * |expected| everywhere; NaN agrees with nothing.

    Integers and truth values are equal or not: an index that is nearly right is wrong.
    """
    if not expected and not parts:
        return {"agrees": True, "first_disagreement": None, "reason": "no output, nothing to compare"}
    shapes = [[(tuple(t.shape), str(t.dtype)) for t in side] for side in (parts, expected)]
    if shapes[0] != shapes[1]:
        found = {"index": None, "value": f"shapes {shapes[0]}", "expected": f"shapes {shapes[1]}"}
        return {"agrees": False, "first_disagreement": found}
    for number, (part, wanted) in enumerate(zip(parts, expected, strict=True)):
        first = first_difference(part, wanted, rtol, atol)
        if first is not None:
            index, value, expected_value = first
            found = {
                "index": [number, *index] if len(parts) > 1 else index,
                "value": number_text(value),
                "expected": number_text(expected_value),
            }
            return {"agrees": False, "first_disagreement": found}
    return {"agrees": True, "first_disagreement": None}


def first_difference(
    part: torch.Tensor, wanted: torch.Tensor, rtol: float, atol: float
) -> tuple[list[int], Any, Any] | None:
    """Index and both values of the first element out of tolerance."""
    rounded = wanted.is_floating_point() or wanted.is_complex()
    start = 0
    for actual, expected in zip(chunks(part), chunks(wanted), strict=True):
        a, e = (widest(actual), widest(expected)) if rounded else (actual, expected)
        bad = a != e  # infinities of one sign are equal
        if rounded:
            bad &= ~(((a - e).abs() <= atol + rtol * e.abs()) & e.isfinite())
        if bool(bad.any()):
            at = int(bad.to(torch.uint8).argmax())
            return unravel(start + at, tuple(part.shape)), a[at].item(), e[at].item()
        start += actual.numel()
    return None


def unravel(flat: int, shape: tuple[int, ...]) -> list[int]:
    index = []
    for size in reversed(shape):
        flat, place = divmod(flat, size)
        index.append(place)
    return index[::-1]


def number_text(value: complex) -> float | str:
    """A number as JSON can hold it: NaN, infinities and complex numbers as text."""
    return str(value) if isinstance(value, complex) or not math.isfinite(value) else value


def summary_line(name: str, entry: Mapping[str, Any]) -> str:
    first = entry["first_disagreement"]
    if first:
        return f"{name}: DISAGREES at {first['index']}: {first['value']}, expected {first['expected']}"
    error = entry["error_l2"]
    return f"{name}: agrees" + ("" if error is None else f", relative error against float64 {error:.2e}")
