"""harmony_mem: conversation memory for on-device agents. It decides what the model sees on every call.

memory = create_memory("sliding", max_tokens=4096)
memory.add({"role": "user", "content": "..."})
messages = memory.messages()          # OpenAI format, within the budget, ready to send
"""

from ._version import __version__
from .create import ARCHITECTURES, create_memory
from .errors import (
    BudgetError,
    ClosedError,
    CounterError,
    HarmonyMemError,
    HistoryError,
    IdConflictError,
    LimitError,
    MessageError,
    OptionError,
    OversizeError,
    ProtocolError,
    SidecarError,
    SummaryError,
)
from .memory import (
    FixedWindowMemory,
    LayeredMemory,
    Memory,
    MemoryConversationStore,
    SlidingWindowMemory,
    SummaryMemory,
)
from .tokens import TokenCounter
from .types import Item, Part, Prompt, Source, Summary

__all__ = [
    "ARCHITECTURES",
    "BudgetError",
    "ClosedError",
    "CounterError",
    "FixedWindowMemory",
    "HarmonyMemError",
    "HistoryError",
    "IdConflictError",
    "Item",
    "LayeredMemory",
    "LimitError",
    "Memory",
    "MemoryConversationStore",
    "MessageError",
    "OptionError",
    "OversizeError",
    "Part",
    "Prompt",
    "ProtocolError",
    "SidecarError",
    "SlidingWindowMemory",
    "Source",
    "Summary",
    "SummaryError",
    "SummaryMemory",
    "TokenCounter",
    "__version__",
    "create_memory",
]
