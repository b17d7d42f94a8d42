"""Puts a memory together from its parts: the one place that knows them all."""

from __future__ import annotations

from .memory import ARCHITECTURES as _BY_NAME
from .memory import CondensingMemory, LayeredMemory, Memory, lookup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["ARCHITECTURES", "create_memory"]


class _Room:
    """A room of the package that is loaded when it is first used: a window needs neither summaries nor recall."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        import importlib

        room = importlib.import_module(self._name, __package__)
        found = getattr(room, attribute)
        setattr(self, attribute, found)
        return found


CondensingMemory.tools = _Room(".summarizers")
LayeredMemory.recall_tools = _Room(".recall")

_ORDER = ("fixed", "sliding", "summary", "layered")
ARCHITECTURES: tuple[str, ...] = tuple(sorted(_BY_NAME, key=_ORDER.index))
"""The architectures that create_memory knows."""


def create_memory(architecture: str, **options: Any) -> Memory:
    """A memory of the given architecture: "fixed", "sliding", "summary" or "layered".

    Options of all: max_tokens=4096 (the hard cap), reserve_tokens (kept free for the reply), counter="estimate" |
    "chars/2" | callable, overhead="chatml" | "openai" | "none", fixed_tokens=0 (tool schemas and the like),
    part_tokens=1024 (a part that is no text), oversize="split" | "refuse", pin_system="leading" | "all", preset=None |
    "car" | "home" | "assistant", clock=None, history_bytes (how much of what was evicted stays in memory, for rewind),
    limit_bytes.
    fixed: reserve_tokens=800, max_turns=None, max_messages=None. sliding: overlap_tokens=None (30 % of the budget).
    summary: max_recent_tokens=1600, summary_token_limit=600, keep_recent=2, summarizer=None ("extractive", or a
    callable), summary_placement="own" | "merged", cooldown=20, timeout=30 (seconds, for a callable only). layered:
    max_short=40, keep_recent=10, recall_tokens="rest", half_life=30 days (in seconds), and the summary's other options.

    Raises OptionError, which names the option and what is allowed.
    """
    return lookup(architecture)(**options)
