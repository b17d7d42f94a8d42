"""What a summariser is, and what is done with any summariser's answer before a memory keeps it.

summarizer = resolve(spec)                                   the option `summarizer` -> a Summarizer
answer = summarizer.summarize(sources, previous, target_tokens, count)
summary = accept(answer, sources, previous)                  any answer -> a Summary, or None: nothing was said
summary, dropped = ground(summary, sources, previous)        grounding.py
summary = fit(summary, limit_tokens, count)                  at most so many tokens
"""

from __future__ import annotations

from ..errors import OptionError, SummaryError, brief, nearest
from ..types import Item, Summary
from .text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..types import Message, Source

    Answer = Summary | str | None

__all__ = ["MAX_TEXT", "NAMES", "CallableSummarizer", "Summarizer", "accept", "fit", "resolve"]

MAX_TEXT = 65_536
"""Characters of a summary that are looked at; what comes after them is cut off by whole lines."""
MAX_KEYWORDS = 64
NAMES = ["extractive"]
"""What the option `summarizer` may be by name."""


class Summarizer:
    """The interface. An object with these three need not derive from it.

    background: True when summarize() may be slow: it then runs in a worker thread, with cooldown and time-out. False
        when it may run at once, in the call that made it due.
    max_input_tokens: the most that sources and previous may cost in one call, or None when anything is fine.
    """

    background: bool = True
    max_input_tokens: int | None = None

    def summarize(
        self, sources: list[Source], previous: Summary | None, target_tokens: int, count: Callable[[str], int]
    ) -> Answer:
        """The new whole summary: of these messages, with what the previous one says merged in.

        sources: at least one message, in order; copies that may be changed at will. target_tokens: what the items
        may cost by `count`, as lines that begin with "- ". None or an empty text: nothing was made of it, which the
        caller takes for a failure. A Summary without items is an answer: there is nothing worth keeping.
        """
        raise NotImplementedError


class CallableSummarizer(Summarizer):
    """A user's `(messages, previous, target_tokens) -> str | Summary | None`; previous is a text, "" without one.

    Runs in the background. An attribute `max_input_tokens` of the callable is its window.
    """

    background = True

    def __init__(self, call: Callable[[list[Message], str, int], Answer]) -> None:
        self.call = call
        self.max_input_tokens = _window(call)

    def summarize(
        self, sources: list[Source], previous: Summary | None, target_tokens: int, count: Callable[[str], int]
    ) -> Answer:
        messages = [source.message for source in sources]
        return self.call(messages, previous.text if previous else "", target_tokens)

    def __repr__(self) -> str:
        return f"<CallableSummarizer of {getattr(self.call, '__qualname__', type(self.call).__name__)}>"


class _Wrapped(Summarizer):
    """An object with a `summarize` method; attributes that it lacks get their defaults."""

    def __init__(self, inner: Any) -> None:
        background = getattr(inner, "background", True)
        if not isinstance(background, bool):
            raise OptionError(f"summarizer.background must be a bool, not {brief(background)}")
        self.inner = inner
        self.background = background
        self.max_input_tokens = _window(inner)

    def summarize(
        self, sources: list[Source], previous: Summary | None, target_tokens: int, count: Callable[[str], int]
    ) -> Answer:
        answer: Answer = self.inner.summarize(sources, previous, target_tokens, count)
        return answer

    def __repr__(self) -> str:
        return f"<Summarizer {type(self.inner).__name__}>"


def resolve(spec: object) -> Summarizer:
    """The summariser that an option means. Raises OptionError for anything that is none."""
    if spec is None or spec == "extractive":
        from .extractive import Extractive

        return Extractive()
    if isinstance(spec, Summarizer):
        return spec
    allowed = f"{', '.join(map(repr, NAMES))}, a callable, an object with a summarize method, or None"
    if isinstance(spec, str):
        raise OptionError(f"summarizer {brief(spec)} is not known{nearest(spec, NAMES)}; allowed: {allowed}")
    if isinstance(spec, type) and hasattr(spec, "summarize"):
        raise OptionError(f"summarizer is the class {spec.__name__}: give an object of it; allowed: {allowed}")
    if callable(getattr(spec, "summarize", None)):
        return _Wrapped(spec)
    if callable(spec):
        return CallableSummarizer(spec)
    raise OptionError(f"summarizer must be {allowed}, not {type(spec).__name__}")


def _window(owner: object) -> int | None:
    """The attribute max_input_tokens, checked."""
    value = getattr(owner, "max_input_tokens", None)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise OptionError(f"summarizer.max_input_tokens must be a positive int or None, not {brief(value)}")
    return value


def accept(result: object, sources: list[Source], previous: Summary | None) -> Summary | None:
    """Any answer as a Summary, or None when it says nothing. Raises SummaryError for what is no answer.

    A text becomes one item a line, each citing all that the summariser was given. An item of a Summary keeps the seqs
    that it cites, if they were given; else it too cites all. No text keeps control characters or lone surrogates, and
    none has more than one line.
    """
    if result is None:
        return None
    if isinstance(result, str):
        head = result[: MAX_TEXT + 1] if not result[:1].isspace() else result.lstrip()[: MAX_TEXT + 1]
        if len(head) > MAX_TEXT:
            head = head[:MAX_TEXT]
            end = max(head.rfind("\n"), head.rfind("\r"))
            head = head[:end] if end > 0 else head
        cited = _cited(sources, previous)
        lines = [_unbulleted(line) for line in printable(head).split("\n")]
        items = [Item(line, cited) for line in lines if line]
        return Summary(items) if items else None
    if isinstance(result, Summary):
        return _checked(result, sources, previous)
    raise SummaryError(f"a summarizer must return a str, a Summary or None, not {type(result).__name__}")


def _checked(summary: Summary, sources: list[Source], previous: Summary | None) -> Summary:
    """A copy of a Summary that somebody else made, with nothing in it that is no text."""
    all_cited = _cited(sources, previous)
    known = set(all_cited)
    items: list[Item] = []
    room = MAX_TEXT
    for item in summary.items:
        if not isinstance(item, Item) or not isinstance(item.text, str):
            raise SummaryError("a Summary must consist of Items with a text")
        room -= len(item.text) + 1
        if room < 0:
            break
        text = " ".join(printable(item.text).split("\n")).strip()
        cited = tuple(seq for seq in item.source_seqs if isinstance(seq, int) and seq in known)
        if text:
            items.append(Item(text, cited or all_cited))
    words = [printable(word[:200]).replace("\n", " ").strip() for word in summary.keywords if isinstance(word, str)]
    return Summary(items, [word for word in words if word][:MAX_KEYWORDS])


def _cited(sources: list[Source], previous: Summary | None) -> tuple[int, ...]:
    """Every seq that the summariser was given, directly or through the previous summary."""
    seqs = {source.seq for source in sources}
    if previous is not None:
        for cited in {item.source_seqs for item in previous.items}:
            seqs.update(cited)
    return tuple(sorted(seqs))


def _unbulleted(line: str) -> str:
    """The line without "- ", "* ", "• " or "1. " before it."""
    line = line.strip()
    for bullet in ("- ", "* ", "• ", "•", "· "):
        if line.startswith(bullet):
            return line[len(bullet) :].lstrip()
    digits = len(line) - len(line.lstrip("0123456789"))
    if 0 < digits <= 3 and line[digits : digits + 2] in (". ", ") "):
        return line[digits + 2 :].lstrip()
    return "" if line in ("-", "*") else line


def fit(
    summary: Summary,
    limit_tokens: int,
    count: Callable[[str], int],
    value: Callable[[Item], float] | None = None,
) -> Summary:
    """The summary cut to at most limit_tokens, rendered as one line an item with "- " before it.

    Whole items go first: the oldest of them where nothing tells their worth (all cite the same messages, as those of
    a text do), else those of the least worth, by `value` or by the facts that they carry. Only when not even the best
    item fits by itself is it shortened.
    """
    if _cost(summary.items, count) <= limit_tokens:
        return summary
    if limit_tokens <= 0 or not summary.items:
        return Summary([], summary.keywords)
    costs = [count(f"- {item.text}\n") for item in summary.items]
    room = limit_tokens + count("\n")  # the last line has no break behind it
    order = _best_first(summary.items, value)
    chosen: set[int] = set()
    used = 0
    for index in order:
        if used + costs[index] <= room:
            chosen.add(index)
            used += costs[index]
        elif value is None and costs[index] <= room and _same_sources(summary.items):
            break  # of a text, the newest lines stay: a shorter older one does not take the room of a newer one
    # Costs do not add up exactly with every counter: what was chosen is counted as a whole.
    kept = [index for index in order if index in chosen]
    while kept and _cost([summary.items[i] for i in sorted(kept)], count) > limit_tokens:
        kept.pop()
    if kept:
        return Summary([summary.items[i] for i in sorted(kept)], summary.keywords)
    best = summary.items[order[0]]
    text = _shortened(best.text, limit_tokens, count)
    return Summary([Item(text, best.source_seqs)] if text else [], summary.keywords)


def _best_first(items: list[Item], value: Callable[[Item], float] | None) -> list[int]:
    """Indexes, those that stay longest first; the newer of two equals stays longer."""
    indexes = range(len(items) - 1, -1, -1)
    if value is None:
        if _same_sources(items):
            return list(indexes)
        from .extractive import value_of

        value = value_of
    worth = [value(item) for item in items]
    return sorted(indexes, key=lambda i: -worth[i])


def _same_sources(items: list[Item]) -> bool:
    first = items[0].source_seqs
    return len(items) > 1 and all(item.source_seqs is first or item.source_seqs == first for item in items)


def _cost(items: list[Item], count: Callable[[str], int]) -> int:
    return count("\n".join(f"- {item.text}" for item in items)) if items else 0


def _shortened(text: str, limit_tokens: int, count: Callable[[str], int]) -> str:
    """The longest start of the text that fits with "…" behind it; "" when none does. No number or word is cut, if any
    other place will do: half a number is a wrong number."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if count(f"- {text[:middle]}…") <= limit_tokens:
            low = middle
        else:
            high = middle - 1
    for end in (_word_start(text, low), low):
        while end > 0 and end < len(text) and _joins(text[end - 1], text[end]):
            end -= 1
        cut = text[:end].rstrip()
        # Counts need not grow with the text: look again at what is handed out.
        if cut and count(f"- {cut}…") <= limit_tokens:
            return cut + "…"
    return ""


def _joins(before: str, after: str) -> bool:
    """Whether a cut between these two would tear what is seen as one: marks, joiners, flags, skin tones."""
    import unicodedata

    return (
        unicodedata.category(after)[0] == "M"
        or after in "\u200d\ufe0f"
        or before == "\u200d"
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or ("\U0001f1e6" <= after <= "\U0001f1ff" and "\U0001f1e6" <= before <= "\U0001f1ff")
    )


def _word_start(text: str, end: int) -> int:
    """`end`, or the start of the word or number that it would cut."""

    def inside(char: str) -> bool:
        return (char.isascii() and char.isalnum()) or char in ".,:@/_-+%"

    start = end
    while 0 < start < len(text) and end - start < 64 and inside(text[start]) and inside(text[start - 1]):
        start -= 1
    return start
