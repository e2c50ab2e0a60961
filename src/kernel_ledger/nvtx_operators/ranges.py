"""The text of a range that torch.autograd.profiler.emit_nvtx opens for an operator."""

from __future__ import annotations

import re
from collections.abc import Collection

EXTRA = re.compile(r", (?:seq|op_id|sizes|input_op_ids) = ")


def operator_of(innermost: str | None, announced: Collection[str]) -> str | None:
    """The operator whose range is the innermost around a launch; None where that is an announced range, or none.

    torch writes ``aten::add, op_id = 12, sizes = [[4, 4], [4, 4]]``, with ``seq = 3`` where autograd records.
    """
    if innermost is None or innermost in announced:
        return None
    return EXTRA.split(innermost, maxsplit=1)[0]
