"""The memories: one file for each architecture over one base."""

from .base import ARCHITECTURES, Memory, lookup
from .fixed import FixedWindowMemory
from .sliding import SlidingWindowMemory

__all__ = ["ARCHITECTURES", "FixedWindowMemory", "Memory", "SlidingWindowMemory", "lookup"]
