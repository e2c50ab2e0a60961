"""FLOPs and bytes of matrix products, from their operands' shapes."""

from __future__ import annotations

from math import prod

from ..fusion.step import Step

OPERANDS = {"aten::mm": 0, "aten::bmm": 0, "aten::addmm": 1, "aten::baddbmm": 1, "aten::_addmm_activation": 1}
"""Operator -> place of the first factor among its arguments; the second follows it."""
TYPES = {"float": "float32", "c10::Half": "float16", "c10::BFloat16": "bfloat16", "double": "float64"}
ITEM_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8}


def dtype(step: Step) -> str | None:
    """The type of a product's factors, as torch writes it."""
    place = OPERANDS.get(step.operator)
    if place is None or len(step.types) <= place:
        return None
    return TYPES.get(step.types[place], step.types[place])


def factors(step: Step) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Shapes of both factors, (…, m, k) and (…, k, n), or None for no product or shapes that do not fit."""
    place = OPERANDS.get(step.operator)
    if place is None or len(step.shapes) < place + 2:
        return None
    a, b = step.shapes[place], step.shapes[place + 1]
    fits = len(a) == len(b) >= 2 and a[-1] == b[-2] and a[:-2] == b[:-2]
    return (tuple(a), tuple(b)) if fits else None


def flops(step: Step) -> int | None:
    """2 m k n for each product; an added bias is not counted."""
    found = factors(step)
    return 2 * prod(found[0]) * found[1][-1] if found else None


def bytes_moved(step: Step) -> int | None:
    """Both factors, what is added, and the product, each once; from the data flow where it is known."""
    found, size = factors(step), ITEM_BYTES.get(dtype(step) or "")
    if step.bytes is not None:
        return step.bytes
    if found is None or size is None:
        return None
    a, b = found
    added = prod(step.shapes[0]) if OPERANDS[step.operator] else 0
    return (prod(a) + prod(b) + added + prod(a[:-1]) * b[-1]) * size
