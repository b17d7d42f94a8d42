"""Cutting texts in a view: when the newest messages alone exceed the budget, their largest texts are shortened.

All cuts fall on grapheme cluster boundaries. A tool result keeps its head and its tail; any other text keeps its newest
part, its end. A marker says how much is missing. Only the view is cut: the memory keeps every character.
"""

from __future__ import annotations

from .. import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Counter = Callable[[str], int]

__all__ = ["Piece", "cut", "level", "marker"]


def marker(missing: int) -> str:
    """What stands for the characters left out. ASCII, since that is cheap in every vocabulary."""
    return f"[...{missing} characters left out...]"


class Piece:
    """One text that may be cut: which message it belongs to, what it costs, and what its marker alone would cost."""

    __slots__ = ("both_ends", "cost", "floor", "part", "seq", "text")

    def __init__(self, seq: int, part: int | None, text: str, cost: int, floor: int, both_ends: bool) -> None:
        self.seq = seq
        self.part = part  # index of the content part, None when the content is the text itself
        self.text = text
        self.cost = cost
        self.floor = min(floor, cost)
        self.both_ends = both_ends


def level(pieces: list[Piece], excess: int) -> int | None:
    """The largest cost that every piece may keep so that together they save `excess`; None when they can't.

    So the largest texts give first, down to the size of the next ones, and small ones stay whole.
    """
    if sum(p.cost - p.floor for p in pieces) < excess:
        return None
    low, high = 0, max((p.cost for p in pieces), default=0)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(max(0, p.cost - max(middle, p.floor)) for p in pieces) >= excess:
            low = middle
        else:
            high = middle - 1
    return low


def cut(piece: Piece, limit: int, count: Counter) -> tuple[str, int]:
    """The longest shortened form of the text that costs at most `limit` (or the bare marker), and its cost.

    O(log n) counts of texts of about the size of the result, however long the text is.
    """
    text, length = piece.text, len(piece.text)

    def form(kept: int) -> str:
        if piece.both_ends:
            head = _core.grapheme_floor(text, kept - kept // 2)
            tail = _core.grapheme_ceil(text, max(length - kept // 2, head))
            return f"{text[:head]}\n{marker(tail - head)}\n{text[tail:]}"
        tail = _core.grapheme_ceil(text, length - kept)
        return f"{marker(tail)} {text[tail:]}" if tail < length else marker(length)

    best = marker(length)
    best_cost = count(best)
    fits, beyond = 0, min(max(16, limit), length - 1)
    while beyond < length:  # gallop: from about the size of the result, never from that of the text
        candidate = form(beyond)
        cost = count(candidate)
        if cost > limit:
            break
        best, best_cost, fits = candidate, cost, beyond
        beyond = min(2 * beyond, length - 1) if beyond < length - 1 else length
    while beyond - fits > 1:
        middle = (fits + beyond) // 2
        candidate = form(middle)
        cost = count(candidate)
        if cost <= limit:
            best, best_cost, fits = candidate, cost, middle
        else:
            beyond = middle
    return best, best_cost
