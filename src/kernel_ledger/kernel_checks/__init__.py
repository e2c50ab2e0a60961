"""`make check-kernels`: every custom kernel against float64, over sizes, dtypes, streams, strides and alignments.

These modules import torch; nothing but scripts/check_kernels.py imports them.
"""
