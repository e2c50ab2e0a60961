"""Roofline: a kernel's bytes and FLOPs against copy bandwidth and GEMM rate of the same run, not of a data sheet."""

from .picture import picture
from .points import COLUMNS, points
from .roofs import enter_roofs

__all__ = ["COLUMNS", "enter_roofs", "picture", "points"]
