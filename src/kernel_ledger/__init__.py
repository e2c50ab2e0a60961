"""Double-entry bookkeeping for GPU kernels: two profilers, one verified table."""

__version__ = "0.1.0"
