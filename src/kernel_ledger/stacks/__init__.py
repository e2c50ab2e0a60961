"""Flame graphs: kernel time by the Python stack that launched it, from the trace's own events (torch.with_stack)."""

from .samples import Stacks, read_stacks, stacks
from .speedscope import speedscope
from .svg import flame_graph

__all__ = ["Stacks", "flame_graph", "read_stacks", "speedscope", "stacks"]
