"""The fault suite: what goes wrong in the field, made small, and which check answers.

``REGISTRY`` holds every fault; tests/test_faults.py applies each, docs/faults.md lists them.
"""

from . import both_books, nsys_profile, nsys_stats, passes, torch_profiler
from .fault import Fault

MODULES = {
    "nsys stats and nsys export": nsys_stats,
    "nsys profile": nsys_profile,
    "torch.profiler": torch_profiler,
    "Both books": both_books,
    "The passes and what they ran on": passes,
}
REGISTRY: tuple[Fault, ...] = tuple(fault for module in MODULES.values() for fault in module.FAULTS)
