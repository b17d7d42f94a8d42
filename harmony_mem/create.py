"""Puts a memory together from its parts: the one place that knows them all."""

from __future__ import annotations

from .memory import ARCHITECTURES as _BY_NAME
from .memory import Memory, lookup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["ARCHITECTURES", "create_memory"]

ARCHITECTURES: tuple[str, ...] = tuple(_BY_NAME)
"""The architectures that create_memory knows."""


def create_memory(architecture: str, **options: Any) -> Memory:
    """A memory of the given architecture: "fixed" or "sliding".

    Options of all: max_tokens=4096 (the hard cap), reserve_tokens (kept free for the reply), counter="estimate" |
    "chars/2" | callable, overhead="chatml" | "openai" | "none", fixed_tokens=0 (tool schemas and the like),
    part_tokens=1024 (a part that is no text), oversize="split" | "refuse", pin_system="leading" | "all", preset=None |
    "car" | "home" | "assistant", clock=None, history_bytes (how much of what was evicted stays in memory, for rewind),
    limit_bytes.
    fixed: reserve_tokens=800, max_turns=None, max_messages=None. sliding: overlap_tokens=None (30 % of the budget).

    Raises OptionError, which names the option and what is allowed.
    """
    return lookup(architecture)(**options)
