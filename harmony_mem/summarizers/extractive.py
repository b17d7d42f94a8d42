"""The summariser that needs no model: it quotes what carries facts, and nothing else.

Deterministic, and linear in what it is given: a call looks at its sources and at the previous summary only. What an
item is worth follows from its text (worth.py), so that nothing but the summary has to be remembered between calls.
"""

from __future__ import annotations

import re

from ..types import Item, Summary
from .base import Summarizer
from .clauses import clauses_of, content_of, is_question, kernel, sentences_of, width
from .keywords import keywords_of
from .patterns import EPISODIC
from .supersede import Shelf, Statement
from .text import MARKS, mark_of, printable
from .worth import weigh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..types import Source
    from .worth import Worth

__all__ = ["Extractive", "value_of"]

WHOLE = 68
"""A sentence of at most this width is quoted whole: its clauses explain each other. Letters take more of it."""
WHOLE_LATIN = 120
LONG = 150
"""The most that one quote spans; clauses further apart become quotes of their own."""
NEWS_BESIDE = 0.03
"""What news may fill in any case, beside facts that fill more than their share themselves."""
NEWS_SHARE = 0.5
"""How much of the target news may fill: what is worth its place only while it is new must not make prompts dearer."""
MARGIN = 0.94
"""How much of the target is used: the caller puts a title above the items."""
NEWS = 2.2
BARE_NEWS = 3.0
RESULT_NEWS = 1.0
"""What a new statement must be worth, with exact values and without; and a tool's result, which weighs less."""
EARLY = 60.0
NEWS_AGE = 60.0
"""Messages after which an early fact's bonus, and a piece of news' worth, are halved."""

_PAIR = re.compile(r"\"([A-Za-z_]{2,30})\"\s*:\s*(\"[^\"\n]{1,60}\"|-?\d[\d.]{0,15})(?=\s*[,}\]])")
_KEYS = re.compile(
    r"(?:^|_)(?:id|no|number|code|status|date|due|eta|time|total|price|amount|name|title|owner|address|phone|email|deadline|seat|flight|room|arrive|ship)(?:_|$)",
    re.IGNORECASE,
)


class Extractive(Summarizer):
    """Quotes the clauses that carry facts, decisions, preferences, promises and corrections, in order.

    An item is a verbatim slice of a message; what the user did not say begins with a mark that says who did.
    """

    background = False
    max_input_tokens = None

    def summarize(
        self, sources: list[Source], previous: Summary | None, target_tokens: int, count: Callable[[str], int]
    ) -> Summary:
        """See Summarizer.summarize. Always a Summary; without items when nothing is worth keeping."""
        shelf = Shelf()
        order = 0
        for item in previous.items if previous is not None else ():
            worth = weigh(item.text)
            worth.score = max(worth.score, EPISODIC)  # somebody found it worth keeping
            shelf.admit(Statement(item.text, item.source_seqs, worth, order))
            order += 1
        question: tuple[str, int] | None = None
        for source in sources:
            for text, seqs in _quotes(source, question):
                worth = weigh(text)
                if worth.score >= _least(text, worth):
                    shelf.admit(Statement(text, seqs, worth, order))
                    order += 1
            question = _asked(source)
        chosen = _choose(shelf.holding(), int(target_tokens * MARGIN), count)
        chosen.sort(key=lambda statement: (statement.seqs[:1], statement.order))
        items = [Item(statement.text, statement.seqs) for statement in chosen]
        return Summary(items, keywords_of(item.text[len(mark_of(item.text)) :] for item in items))

    def __repr__(self) -> str:
        return "<Summarizer extractive>"


def value_of(item: Item) -> float:
    """What an item is worth: its text, and a bonus for what was said early."""
    return weigh(item.text).score * _early(item.source_seqs)


def _early(seqs: tuple[int, ...]) -> float:
    """What is said at the start is what the rest rests on."""
    return 1 + 0.5 / (1 + (seqs[0] if seqs else 0) / EARLY)


def _least(text: str, worth: Worth) -> float:
    """What a new statement must be worth to be kept at all."""
    if text.startswith((MARKS[1], MARKS[3])):
        return RESULT_NEWS
    return NEWS if worth.values else BARE_NEWS


# ---------------------------------------------------------------------------------------------------- choosing
def _choose(statements: list[Statement], target: int, count: Callable[[str], int]) -> list[Statement]:
    """The best by worth for their cost. News fill what facts have left of their own, smaller share."""
    newest = max((seq for statement in statements for seq in statement.seqs), default=0)
    ranked: list[tuple[bool, float, int, Statement]] = []
    for place, statement in enumerate(statements):
        worth = statement.worth
        seq = statement.seqs[-1] if statement.seqs else 0
        factor = _early(statement.seqs) if worth.durable else 1 / (1 + (newest - seq) / NEWS_AGE)
        density = worth.score * factor / (16 + width(statement.text))
        ranked.append((not worth.durable, -density, place, statement))
    ranked.sort(key=lambda entry: entry[:3])
    chosen: list[Statement] = []
    used = misses = 0
    room_for_news: int | None = None
    for news, _, _, statement in ranked:
        if news and room_for_news is None:
            room_for_news = min(target, int(max(target * NEWS_SHARE, used + target * NEWS_BESIDE)))
        limit = target if room_for_news is None else room_for_news
        if used >= limit:
            if news:
                break
            continue
        cost = count(f"- {statement.text}\n")
        if used + cost <= limit:
            chosen.append(statement)
            used += cost
        elif (misses := misses + 1) > 64:
            break
    # Costs do not add up exactly with every counter.
    while chosen and count("\n".join(f"- {statement.text}" for statement in chosen)) > target:
        chosen.pop()
    return chosen


# ---------------------------------------------------------------------------------------------------- quoting
def _quotes(source: Source, question: tuple[str, int] | None) -> Iterator[tuple[str, tuple[int, ...]]]:
    """What a message says that could be kept, with the mark of who says it."""
    message = source.message
    role = message.get("role")
    text = content_of(message)
    if not text or role not in ("user", "assistant", "tool"):
        return
    if role == "tool":
        yield from _of_result(text, source.seq)
        return
    first = True
    for sentence in sentences_of(text):
        for quote in _statements(sentence):
            if role == "assistant":
                yield _mark(quote, 0) + quote, (source.seq,)
            elif first and question is not None and _bare(quote):
                # The answer alone says nothing: "6" of what?
                yield f"{question[0]}{quote}", (question[1], source.seq)
            else:
                yield quote, (source.seq,)
            first = False


def _mark(text: str, which: int) -> str:
    return MARKS[which] if any("一" <= char <= "鿿" for char in text) else MARKS[which + 2]


def _statements(sentence: str) -> Iterator[str]:
    """The slices of a sentence that state something."""
    clauses = clauses_of(sentence)
    ends = "?" if sentence.endswith(("?", "？")) else ""
    states = [not is_question(clause) for clause in clauses]
    if ends and len(clauses) == 1 and not states[0]:
        return
    runs: list[list[str]] = []
    last = False
    for clause, state in zip(clauses, states, strict=True):
        if state and last:
            runs[-1].append(clause)
        elif state:
            runs.append([clause])
        last = state
    for run in runs:
        whole = kernel("".join(run))
        if width(whole) <= (WHOLE_LATIN if whole.isascii() else WHOLE):
            if whole:
                yield whole
            continue
        yield from _spans(run)


def _spans(run: list[str]) -> Iterator[str]:
    """The clauses of a long sentence that carry something, with what stands between two of them."""
    scores = [weigh(clause).score for clause in run]
    span: list[str] = []
    gap: list[str] = []
    for clause, score in zip(run, scores, strict=True):
        if score < EPISODIC:
            if span:
                gap.append(clause)
            continue
        if span and width("".join([*span, *gap, clause])) > LONG:
            yield kernel("".join(span))
            span, gap = [], []
        span += [*gap, clause]
        gap = []
    if span and (quote := kernel("".join(span))):
        yield quote


def _bare(quote: str) -> bool:
    """An answer that needs its question: short, and without a statement of its own."""
    return width(quote) <= 24 and weigh(quote).score < 4


def _asked(source: Source) -> tuple[str, int] | None:
    """The last question of an assistant's message, if it asks for something that can be told in a word."""
    if source.message.get("role") != "assistant":
        return None
    text = content_of(source.message)[-400:]
    last = ""
    for sentence in sentences_of(text):
        last = sentence
    if not last.endswith(("?", "？")):
        return None
    clauses = clauses_of(last)
    asked = kernel(clauses[-1])
    return (asked, source.seq) if 2 <= width(asked) <= 40 and asked.endswith(("?", "？")) else None


def _of_result(text: str, seq: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """A few pairs of a JSON result, or the sentences of one that is text."""
    if text.lstrip()[:1] in ("{", "["):
        pairs = [pair.group(0) for pair in _PAIR.finditer(printable(text[:4000])) if _KEYS.search(pair.group(1))][:3]
        if pairs:
            quote = ", ".join(pairs)
            yield _mark(quote, 1) + quote, (seq,)
        return
    for sentence in sentences_of(text[:2000]):
        for quote in _statements(sentence):
            yield _mark(quote, 1) + quote, (seq,)
