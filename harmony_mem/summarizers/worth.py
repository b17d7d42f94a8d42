"""How much a statement is worth keeping, from its text alone: the same text is worth the same in every call."""

from __future__ import annotations

import re

from .patterns import CAPITALS, DATE_EN, DURABLE, KINDS, VALUES
from .text import MARKS, mark_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

__all__ = ["TOP", "Worth", "weigh"]

TOP = 16.0
_REST = 0.35
"""What each further kind or value adds: three facts are worth more than one, not three times as much."""

# What the assistant only repeats or asks back, or says about itself, is not lost when it goes.
_OTHERS = frozenset({"promise", "decision", "deadline", "corrected", "total", "agreed", "contact"})


_WEIGHTS = {kind.name: kind.weight for kind in KINDS}
_DIGIT = re.compile(r"\d")
_WIDE = re.compile("[一-鿿]")
_LATIN = re.compile(r"[a-z]{2}|@")
_DANGLING = re.compile(
    r"(?:if|when|while|instead|not|that|which|who|whose|where|especially|than|as|until|unless|whatever|for|to|in|at|with)\b"
)
"""How a clause begins that says little without the one before it."""
_HOUR = re.compile(r"[一二三四五六七八九十两]点")


class Worth:
    """kinds: the names of the kinds found. values: how many exact values. score: what it is worth."""

    __slots__ = ("kinds", "score", "values")

    def __init__(self, score: float, kinds: frozenset[str], values: int) -> None:
        self.score = score
        self.kinds = kinds
        self.values = values

    @property
    def durable(self) -> bool:
        return self.score >= DURABLE


def weigh(text: str, *, without: Container[str] = ()) -> Worth:
    """The worth of an item's text, its mark included. `without`: kinds that count for nothing."""
    mark = mark_of(text)
    body = text[len(mark) :]
    found: list[float] = []
    names: set[str] = set()
    values = 0
    small = body.lower()
    digit = _DIGIT.search(body) is not None
    wide = _WIDE.search(body) is not None
    latin = _LATIN.search(small) is not None
    when = wide and _HOUR.search(body) is not None
    for name, weight, numeric, pattern in VALUES:
        if numeric and not digit:
            continue
        hits = len(pattern.findall(body))
        if hits:
            values += hits
            found.append(weight * (1 + 0.3 * (min(hits, 3) - 1)))
            when = when or name in ("date", "time")
    if latin and (hits := len(DATE_EN.findall(small))):
        values += hits
        found.append(1.4)
        when = True
    for kind in KINDS:
        if (kind.needs == "digit" and not digit) or (kind.needs == "when" and not when):
            continue
        if (wide and kind.zh and kind.zh.search(body)) or (latin and kind.en and kind.en.search(small)):
            names.add(kind.name)
    if latin and CAPITALS[2].search(body):
        names.add(CAPITALS[0])
    # In the order of the table: a sum of floats depends on its order, a set's order on the process.
    found += [
        weight
        for name, weight in _WEIGHTS.items()
        if name in names and name not in without and (not mark or name in _OTHERS)
    ]
    if not found:
        return Worth(0.0, frozenset(names), values)
    best = max(found)
    score = min(TOP, best + _REST * (sum(found) - best))
    if mark and "promise" not in names:
        score *= 0.5 if mark in (MARKS[0], MARKS[2]) else 0.4
    if latin and not values and _DANGLING.match(small):
        score *= 0.5
    return Worth(score, frozenset(names), values)
