"""An inverted index over the messages of one session: small, incremental, in memory.

Scores are BM25. A term t that occurs f times in a message of L terms counts

    idf(t) * f * (K1 + 1) / (f + K1 * (1 - B + B * L / mean L)),   idf(t) = ln(1 + (N - n + 0.5) / (n + 0.5))

with N messages, n of which have t. A score is multiplied by the decay of the message's age (ranking.aged).

Memory: a term that occurs in one message is one int in a dict, which is most terms; the others have an array with 4
bytes for each message. Texts are not kept.

Bounded work: a query reads MAX_POSTINGS postings at most, whatever the length of the history. Rare terms come first,
and the first one that no longer fits is read from its newest end. Up to a few thousand messages nothing is left out.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right

from .ranking import aged, best, checked_half_life, interleave
from .terms import MAX_TEXT, clip, terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence
    from typing import TypeAlias

    from ..types import Message, Source

    Key: TypeAlias = int | str
    Postings: TypeAlias = "int | array[int]"

__all__ = ["Hit", "Index", "texts_of"]

K1 = 1.5
B = 0.75
MAX_TERMS = 64
"""Distinct terms of a query that count: the rarest. A pasted page is searched by what is special in it."""
MAX_POSTINGS = 3072
MAX_RANKED = 1024
"""Entries of one ranking, and messages that give to their neighbours. On a history of 8,226 turns (CrossWOZ, joined)
these two limits cost 0.8 points: 66.3 % of the gold turns came back in 1,500 tokens, 67.1 % without limits."""

# A turn that says what was asked for often follows the turn that names the thing: "which hotel is near the lake?" -
# "the Garden Inn, 320 yuan". So a message also scores by the terms of its neighbours; (offset from where the term
# stands, weight). For each term the best place counts, once: that rewards different terms near each other, where
# a sum would reward one name said over and over.
NEIGHBOURS = ((1, 0.7), (2, 0.5), (-1, 0.5), (-2, 0.3))

# A posting is ordinal << 6 | frequency; ordinals count messages from 0, frequencies end at 63.
_BITS = 6
_MOST = (1 << _BITS) - 1

# What sys.getsizeof and tracemalloc say on 64-bit CPython 3.11, for `weight`.
_TERM_BYTES = 110
_ARRAY_BYTES = 60


class Hit:
    """A message found: its seq, and its score, which compares with those of the same query only."""

    __slots__ = ("score", "seq")

    def __init__(self, seq: int, score: float) -> None:
        self.seq = seq
        self.score = score

    def __eq__(self, other: object) -> bool:
        return (self.seq, self.score) == (other.seq, other.score) if isinstance(other, Hit) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.seq, self.score))

    def __repr__(self) -> str:
        return f"<Hit seq {self.seq}, score {self.score:.3f}>"


class Index:
    """Finds messages by their words. One thread at a time; the memory that owns it holds its lock.

    Messages come in the order of their seqs. `touched` says how many postings the last query read.
    """

    __slots__ = ("_last", "_lengths", "_postings", "_seqs", "_start", "_terms_total", "_times", "_weight", "touched")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forgets everything."""
        self._postings: dict[Key, Postings] = {}
        self._seqs = array("q")
        self._times = array("q")
        self._lengths = array("H")  # terms of a message: MAX_TEXT characters make less than 65,536
        self._terms_total = 0
        self._start = 0  # ordinals below are forgotten and wait for _sweep
        self._last = 0
        self._weight = 0
        self.touched = 0

    def __len__(self) -> int:
        """Messages that can be found, those without a single term included."""
        return len(self._seqs) - self._start

    @property
    def last_seq(self) -> int:
        """The newest seq that came, less what was rewound, 0 at the start: where a batch goes on."""
        return self._last

    @property
    def weight(self) -> int:
        """Bytes that the index takes, about."""
        return self._weight + 18 * len(self._seqs)

    # -- change

    def add(self, source: Source) -> None:
        """Indexes one message. One that is not newer than the last is there already, and nothing happens."""
        if source.seq <= self._last:
            return
        self._last = source.seq
        counts: dict[str, int] = {}
        for text in texts_of(source.message):
            for term in terms(text):
                counts[term] = counts.get(term, 0) + 1
        head = len(self._seqs) << _BITS
        length = 0
        for term, count in counts.items():
            count = min(count, _MOST)
            length += count
            self._append(_key(term), head | count)
        self._seqs.append(source.seq)
        self._times.append(source.time)
        self._lengths.append(min(length, 65_535))
        self._terms_total += self._lengths[-1]

    def _append(self, key: Key, posting: int) -> None:
        known = self._postings.get(key)
        if known is None:
            self._postings[key] = posting
            self._weight += _term_bytes(key)
        elif isinstance(known, int):
            self._postings[key] = array("I", (known, posting))
            self._weight += _ARRAY_BYTES + 8
        else:
            known.append(posting)
            self._weight += 4

    def remove_after(self, seq: int) -> None:
        """Forgets the messages with a higher seq, as if they had never come. Looks once at each term."""
        self._last = min(self._last, max(seq, 0))
        end = bisect_right(self._seqs, seq)
        if end == len(self._seqs):
            return
        limit = end << _BITS
        ends = [(key, p if isinstance(p, int) else p[-1]) for key, p in self._postings.items()]
        for key in [key for key, last in ends if last >= limit]:
            self._keep(key, 0, limit)
        self._cut(0, end)
        self._start = min(self._start, end)

    def remove_before(self, seq: int) -> None:
        """Forgets the messages with a lower seq: they are found no more.

        They still count in N, n and mean L until they are half of the index, when it is swept: O(1) amortised.
        """
        self._start = max(self._start, bisect_left(self._seqs, seq))
        if self._start and 2 * self._start >= len(self._seqs):
            low = self._start << _BITS
            for key in list(self._postings):
                self._keep(key, low, len(self._seqs) << _BITS)
            self._cut(self._start, len(self._seqs))
            self._start = 0

    def _keep(self, key: Key, low: int, high: int) -> None:
        """Keeps of one term the postings from low to high - 1, moved down by low."""
        postings = self._postings[key]
        if isinstance(postings, int):
            kept = [postings - low] if low <= postings < high else []
        else:
            a, b = bisect_left(postings, low), bisect_left(postings, high)
            kept = [posting - low for posting in postings[a:b]]
            self._weight -= _ARRAY_BYTES + 4 * len(postings)
        if not kept:
            del self._postings[key]
            self._weight -= _term_bytes(key)
        elif len(kept) == 1:
            self._postings[key] = kept[0]
        else:
            self._postings[key] = array("I", kept)
            self._weight += _ARRAY_BYTES + 4 * len(kept)

    def _cut(self, first: int, end: int) -> None:
        """Keeps the messages of ordinals first to end - 1, renumbered from 0."""
        for column in (self._seqs, self._times, self._lengths):
            del column[end:]
            del column[:first]
        self._terms_total = sum(self._lengths)

    # -- search

    def search(
        self,
        query: str,
        *,
        k: int,
        before: int,
        now: int,
        half_life: float | None = None,
        exclude: Container[int] = (),
    ) -> list[Hit]:
        """The k best messages with a seq below `before` that are not in `exclude`; of equal scores the newest first.

        now: ms since epoch, from which ages count; half_life: ms, None for no decay, OptionError unless above 0.
        A query without a term (empty, stop words, signs) finds nothing.
        """
        life = checked_half_life(half_life)
        if k <= 0:
            return []
        scores: dict[int, float] = {}
        for found in self._evidence(query, before):
            for ordinal, score in found:
                scores[ordinal] = scores.get(ordinal, 0.0) + score
        if exclude:
            scores = {o: s for o, s in scores.items() if self._seqs[o] not in exclude}
        scores = aged(scores, self._times, now, life)
        return [Hit(self._seqs[o], scores[o]) for o in best(scores, k)]

    def ranked(self, query: str, *, before: int, now: int, half_life: float | None = None) -> list[int]:
        """Seqs below `before` in the order in which they should fill a budget, best first.

        The plain ranking of search() and the neighbour-aware one (NEIGHBOURS) taken in turn: the second finds answers
        that don't repeat what was asked, the first guards facts that stand alone among other things. At most
        2 * MAX_RANKED.
        """
        life = checked_half_life(half_life)
        evidence = list(self._evidence(query, before))
        plain: dict[int, float] = {}
        for found in evidence:
            for ordinal, score in found:
                plain[ordinal] = plain.get(ordinal, 0.0) + score
        first = best(aged(plain, self._times, now, life), MAX_RANKED)
        near = self._spread(evidence, set(first) if len(first) < len(plain) else None, before)
        second = best(aged(near, self._times, now, life), MAX_RANKED)
        return [self._seqs[ordinal] for ordinal in interleave((first, second))]

    def _evidence(self, query: str, before: int) -> Iterator[list[tuple[int, float]]]:
        """For each term of the query, rarest first: (ordinal, score) of the messages that have it."""
        total = len(self._seqs)
        end = bisect_left(self._seqs, before)
        low, high = self._start << _BITS, end << _BITS
        mean = self._terms_total / total if self._terms_total else 1.0
        flat, slope = K1 * (1 - B), K1 * B / mean
        lengths = self._lengths
        self.touched = 0
        room = MAX_POSTINGS
        for count, _, postings in self._query_terms(query):
            a, b = bisect_left(postings, low), bisect_left(postings, high)
            a = max(a, b - room)
            room -= b - a
            self.touched += b - a
            gain = (K1 + 1) * math.log(1 + (total - count + 0.5) / (count + 0.5))
            found = []
            for posting in postings[a:b]:
                ordinal, frequency = posting >> _BITS, posting & _MOST
                found.append((ordinal, gain * frequency / (frequency + flat + slope * lengths[ordinal])))
            yield found
            if room <= 0:
                return

    def _query_terms(self, query: str) -> list[tuple[int, str, Sequence[int]]]:
        """(messages that have it, term, postings) of the query's rarest terms, rarest first."""
        known: list[tuple[int, str, Sequence[int]]] = []
        for term in set(terms(query)):
            postings = self._postings.get(_key(term))
            if isinstance(postings, int):
                known.append((1, term, (postings,)))
            elif postings is not None:
                known.append((len(postings), term, postings))
        known.sort(key=lambda entry: entry[:2])
        return known[:MAX_TERMS]

    def _spread(
        self, evidence: Iterable[list[tuple[int, float]]], among: set[int] | None, before: int
    ) -> dict[int, float]:
        """Neighbour-aware scores: each term's best weighted place near the message, added up over the terms.

        among: only these ordinals give to their neighbours; None means all.
        """
        first, end = self._start, bisect_left(self._seqs, before)
        near: dict[int, float] = {}
        for found in evidence:
            if among is not None:
                found = [entry for entry in found if entry[0] in among]
            here = dict(found)
            for offset, weight in NEIGHBOURS:
                for ordinal, score in found:
                    place, value = ordinal + offset, score * weight
                    if place not in here or value > here[place]:
                        here[place] = value
            for place, value in here.items():
                if first <= place < end:
                    near[place] = near.get(place, 0.0) + value
        return near


def texts_of(message: Message) -> list[str]:
    """What of a message can be found: its text or text parts, and the name and arguments of its calls.

    At most MAX_TEXT characters of all of them together. Anything that is no text is passed over.
    """
    out: list[str] = []
    content = message.get("content")
    if isinstance(content, str):
        out.append(content)
    elif isinstance(content, list):
        for part in content:
            text = part.get("text") if isinstance(part, dict) else part
            if isinstance(text, str):
                out.append(text)
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            function = call.get("function")
            out.extend(_strings(function if isinstance(function, dict) else {**call, "id": None, "type": None}, 0))
    if sum(map(len, out)) > MAX_TEXT:
        return [clip("\n".join(out))]
    return out


def _strings(value: object, depth: int) -> Iterator[str]:
    """The strings in a call, the values of its dicts and lists, keys too where arguments came as a dict."""
    if isinstance(value, str):
        yield value
    elif depth < 32 and isinstance(value, dict):
        for key, item in value.items():
            if depth and isinstance(key, str):
                yield key
            yield from _strings(item, depth + 1)
    elif depth < 32 and isinstance(value, (list, tuple)):
        for item in value:
            yield from _strings(item, depth + 1)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield str(value)


def _key(term: str) -> Key:
    """A pair of unspaced characters as one int: 32 bytes where a str takes 78, and there are many of them."""
    if len(term) == 2 and term[0] >= "\u0e00":
        return ord(term[0]) << 21 | ord(term[1])
    return term


def _term_bytes(key: Key) -> int:
    return _TERM_BYTES + (0 if isinstance(key, int) else 20 + len(key))
