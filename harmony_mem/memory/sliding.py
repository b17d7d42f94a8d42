"""The sliding window: the newest whole groups by token budget, evicted in batches so that the prompt's start stays."""

from __future__ import annotations

from .base import Memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

__all__ = ["SlidingWindowMemory"]

DEFAULT_OVERLAP = 0.3
"""Share of the budget that a batch frees. docs/memories.md shows the curve of overlap against reuse and kept tokens."""


class SlidingWindowMemory(Memory):
    """Keeps the newest turns within the budget; when they exceed it, evicts down to `budget - overlap_tokens`.

    The next turns then only append, so that a model's prefix cache serves the whole previous prompt. A batch never
    takes more than half of the room that head and pinned groups leave.
    """

    architecture = "sliding"
    own_options: ClassVar[dict[str, Any]] = {"overlap_tokens": None}

    def marks(self, options: dict[str, Any], budget: int) -> tuple[int, int | None, int | None]:
        """The margin; no counts."""
        overlap = options["overlap_tokens"]
        return (int(budget * DEFAULT_OVERLAP) if overlap is None else overlap), None, None
