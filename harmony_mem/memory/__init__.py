"""The memories: one file for each architecture over one base."""

from .base import ARCHITECTURES, Memory, lookup
from .condensing import CondensingMemory
from .fixed import FixedWindowMemory
from .layered import LayeredMemory, LongTermEntry, MemoryConversationStore
from .sliding import SlidingWindowMemory
from .summary import SummaryMemory

__all__ = [
    "ARCHITECTURES",
    "CondensingMemory",
    "FixedWindowMemory",
    "LayeredMemory",
    "LongTermEntry",
    "Memory",
    "MemoryConversationStore",
    "SlidingWindowMemory",
    "SummaryMemory",
    "lookup",
]
