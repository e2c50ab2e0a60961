"""Reads Kineto (torch.profiler) Chrome traces: exact nanoseconds, kernels with their operators.

Only per-event records count.  Rows that repeat a kernel's time (gpu_user_annotation, "Activity Buffer
Request", compiled regions) are of other categories and are never read as kernels.
"""

from ..cuda_calls import is_graph_launch, is_kernel_launch
from .book import read
from .columns import shapes
from .events import LAUNCHES, OPERATIONS, Event
from .kernels import attributed_kernels, kernels
from .stream import NEXT, decode, read_bytes
from .times import nanoseconds

__all__ = [
    "LAUNCHES",
    "NEXT",
    "OPERATIONS",
    "Event",
    "attributed_kernels",
    "decode",
    "is_graph_launch",
    "is_kernel_launch",
    "kernels",
    "nanoseconds",
    "read",
    "read_bytes",
    "shapes",
]
