"""Fusion candidates: chains of memory-bound kernels, the bytes that one kernel in their place would move, and what came of it.

Inputs: the torch traces, dataflow.json of the numerics pass (where there is one) and results.csv.  Outputs: fusion.csv,
fusion_achieved.csv, and a section of summary.md.  Needs neither torch nor a GPU.
"""

from .achieved import achieved_rows
from .candidates import candidate_rows
from .steps import VariantSteps, variant_steps

__all__ = ["VariantSteps", "achieved_rows", "candidate_rows", "variant_steps"]
