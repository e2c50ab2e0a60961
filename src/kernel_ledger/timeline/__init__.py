"""Both books of a case as one Perfetto file: what each tool recorded, side by side on one time axis."""

from .case import case_timeline

__all__ = ["case_timeline"]
