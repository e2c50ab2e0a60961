"""Operators named by both tools: nsys through the ranges of emit_nvtx, torch.profiler through its own records."""

from .agreement import COLUMNS, operator_rows
from .ranges import operator_of

__all__ = ["COLUMNS", "operator_of", "operator_rows"]
