"""The fault suite: what goes wrong in the field, made small, and which check answers.

``REGISTRY`` holds every fault; tests/test_faults.py applies each, docs/faults.md lists them.
"""

from . import (
    both_books,
    files,
    nsys_csvs,
    nsys_export,
    nsys_profile,
    nsys_records,
    nsys_stats,
    numerics,
    passes,
    torch_profiler,
    torch_records,
    torch_traces,
)
from .fault import Fault

MODULES = {
    "nsys stats: the tool": nsys_stats,
    "nsys stats: its CSVs": nsys_csvs,
    "nsys export": nsys_export,
    "nsys profile: the tool": nsys_profile,
    "nsys profile: its records": nsys_records,
    "torch.profiler: the session": torch_profiler,
    "torch.profiler: its records": torch_records,
    "torch.profiler: its traces": torch_traces,
    "Both books": both_books,
    "Numerics": numerics,
    "The passes, and what they ran on": passes,
    "Files of a capture": files,
}
REGISTRY: tuple[Fault, ...] = tuple(fault for module in MODULES.values() for fault in module.FAULTS)
