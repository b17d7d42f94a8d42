"""The fixed window: the newest N turns, messages or tokens, cut at the limit."""

from __future__ import annotations

from .base import Memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

__all__ = ["FixedWindowMemory"]


class FixedWindowMemory(Memory):
    """Keeps the newest turns that fit `max_turns`, `max_messages` and the budget, whichever is reached first.

    The turn in progress is a turn; the head and pinned groups are not counted; the last user message and the newest
    group stay even above the limits. Cuts exactly at the limit, so nearly every turn moves the start of the prompt:
    choose the sliding window where a prefix cache matters.
    """

    architecture = "fixed"
    own_options: ClassVar[dict[str, Any]] = {"reserve_tokens": 800, "max_turns": None, "max_messages": None}

    def marks(self, options: dict[str, Any], budget: int) -> tuple[int, int | None, int | None]:
        """No margin; the two counts."""
        return 0, options["max_messages"], options["max_turns"]
