"""Which kernels exchange data with other ranks."""

from __future__ import annotations

PREFIX = "nccl"


def communicates(name: str) -> bool:
    """Whether a kernel is of NCCL, by its name in either book."""
    return name.lower().startswith(PREFIX)
