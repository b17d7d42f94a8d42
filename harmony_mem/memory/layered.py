"""The layered memory: a short window, a long-term pool of summaries with keywords, and recall of the original words.

What the articles call MemoryConversationStore. Memory is not RAG: recall looks only at what was said in this session.
"""

from __future__ import annotations

from ..errors import MessageError, OptionError, brief
from ..types import Part, Source, Summary
from ..window import FLAGS, ROLE, SEQ, SYSTEM, TIME, Flag, View, texts_of
from .condensing import CATCH_UP, CONDENSING_OPTIONS, CondensingMemory
from .summary import SHORT, header

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable
    from typing import Any, ClassVar, Protocol

    from ..window import Entry

    class IndexLike(Protocol):
        """harmony_mem.recall.Index, or what an archive serves in its place."""

        def add(self, source: Source) -> None: ...
        def remove_after(self, seq: int) -> None: ...
        def remove_before(self, seq: int) -> None: ...
        def clear(self) -> None: ...
        def __len__(self) -> int: ...
        def ranked(self, query: str, *, before: int, now: int, half_life: float | None) -> Iterable[int]: ...
        def search(
            self, query: str, *, k: int, before: int, now: int, half_life: float | None, exclude: Container[int] = ()
        ) -> list[Any]: ...

    class RecallTools(Protocol):
        """The functions of the recall room, handed in by create."""

        def Index(self) -> IndexLike: ...
        def terms(self, text: str) -> list[str]: ...
        def select(self, order: Iterable[int], cost: Callable[[int], int], room: int) -> list[int]: ...


__all__ = ["LayeredMemory", "LongTermEntry", "MemoryConversationStore"]

RECALL_SHARE = 0.5
"""Share of the budget that head and window leave to recall before older turns are evicted."""
DEFAULT_OVERLAP = 0.4
FIRST_OVERLAP = 0.1
SPARE = 12  # one part in so many of the budget stays free of recalled text, for the answers of a tool loop
ENTRIES_SHOWN = 4  # an entry's summary may take this part of the head's summaries
MOST_ENTRIES = 512
OPEN, CLOSE = "<recalled>", "</recalled>"
HEADING_GAP = 3_600_000  # ms between two recalled messages after which the time is told again
MOST_QUERY = 4_000  # characters of a query that are looked at


class LongTermEntry:
    """One stretch that left the window: what it comes down to, and where its words are."""

    __slots__ = ("created", "first_seq", "keywords", "last_seq", "summary")

    def __init__(self, summary: Summary, keywords: list[str], first_seq: int, last_seq: int, created: int) -> None:
        self.summary = summary
        self.keywords = keywords
        self.first_seq = first_seq
        self.last_seq = last_seq
        self.created = created

    def as_dict(self) -> dict[str, Any]:
        """Plain values: {summary, keywords, first_seq, last_seq, created}."""
        return {
            "summary": self.summary.text,
            "keywords": list(self.keywords),
            "first_seq": self.first_seq,
            "last_seq": self.last_seq,
            "created": self.created,
        }


class LayeredMemory(CondensingMemory):
    """Condenses all but the last `keep_recent` messages when the window holds more than `max_short`, each stretch
    into an entry of the long-term pool. Entries stand in the head, newest first; the words behind them are recalled
    into one block before the last user message, chosen once for each user message.
    """

    architecture = "layered"
    own_options: ClassVar[dict[str, Any]] = {
        **CONDENSING_OPTIONS,
        "max_short": 40,
        "keep_recent": 10,
        "recall_tokens": "rest",
        "half_life": 30 * 86_400,
        "history_bytes": 4 << 20,
    }
    recall_tools: ClassVar[RecallTools]  # set by create, which knows the recall room

    # ------------------------------------------------------------------------------------------------ state
    def _enter(self, options: dict[str, Any]) -> None:
        if not hasattr(self, "_index"):
            self._index: IndexLike = self.recall_tools.Index()
            self._indexed_to = 0  # every message up to this seq that left the window is in the index
        self._chosen: tuple[object, list[int]] | None = None  # for which message and marks, which messages
        super()._enter(options)

    def _leave(self) -> None:
        self._chosen = None
        super()._leave()

    def _adopt(self) -> None:
        """A rolling summary becomes the oldest entry."""
        if self._summary is not None:
            first, last = self._covered.intervals[0][0], self._covered.last
            self._pool.insert(0, LongTermEntry(self._summary, self._summary.keywords, first, last, self._now()))
            self._summary = None

    def _after_rewind(self, after_seq: int) -> None:
        if after_seq:
            self._index.remove_after(after_seq)
        else:
            self._index.clear()
        self._indexed_to = min(self._indexed_to, after_seq)
        self._chosen = None

    def marks(self, options: dict[str, Any], budget: int) -> tuple[int, int | None, int | None]:
        """A margin as the sliding window has it, once the window shares the budget with what is recalled."""
        return int(budget * (DEFAULT_OVERLAP if self._evicted_count() else FIRST_OVERLAP)), None, None

    def _window_budget(self) -> int:
        """All of it while there is nothing to recall; then a share stays free for that."""
        if not self._evicted_count():
            return self._budget
        recall = self._options["recall_tokens"]
        reserved = int(self._budget * RECALL_SHARE) if recall == "rest" else min(recall, self._budget // 2)
        return self._budget - int(reserved)

    # ------------------------------------------------------------------------------------------------ condensing
    def _limits(self) -> tuple[int | None, int | None, int]:
        return None, self._options["max_short"], self._options["keep_recent"]

    def _target(self) -> int:
        return max(1, super()._target() // ENTRIES_SHOWN)

    def _previous(self) -> Summary | None:
        return None  # an entry stands for its own stretch alone

    def _previous_tokens(self) -> int:
        return 0

    def _store_result(self, summary: Summary, chunk: list[Entry]) -> None:
        entry = LongTermEntry(summary, summary.keywords, chunk[0][SEQ], chunk[-1][SEQ], self._now())
        self._pool.append(entry)
        del self._pool[:-MOST_ENTRIES]

    def _text(self, limit: int) -> str:
        """Entries newest first, each whole as far as it fits."""
        if not self._pool:
            return ""
        title = header(self._pool[-1].summary, limit < SHORT)
        room = limit - self._count(title) - self._overhead.message
        lines = []
        for entry in reversed(self._pool):
            if room <= 0:
                break
            for item in self.tools.fit(entry.summary, room, self._count).items:
                line = "- " + " ".join(item.text.split())
                room -= self._count(line) + 1
                if room < 0:
                    break
                lines.append(line)
        return "\n".join([title, *lines]) if lines else ""

    def enforce_budget(
        self, max_short: int | None = None, keep_recent: int | None = None, summarize: object = None
    ) -> bool:
        """Condenses now if the window holds more than `max_short`; what is given becomes the setting. True when a run
        was started or is under way: with a summariser in the background it may still be running (see settle)."""
        given: dict[str, Any] = {"max_short": max_short, "keep_recent": keep_recent, "summarizer": summarize}
        with self.guard:
            CondensingMemory._still(self, LayeredMemory)
            changed = {k: v for k, v in given.items() if v is not None}
            if changed:
                self.configure(**changed)
            return self._start_if_due() or self._condenser.running is not None

    # ------------------------------------------------------------------------------------------------ recall
    def _on_notice(self) -> None:
        self._set_marks()  # from the first eviction on the window leaves room for recall
        waiting = self._totals()["outside_records"] - self._condensed["messages"]
        if not self._summarizer.background and waiting < CATCH_UP:
            self._rewatch()
            return
        self._index_history()
        super()._on_notice()

    def _rewatch(self) -> None:
        super()._rewatch()
        if not self._evicted_count():
            tokens, messages, _ = self._limits() if self._summarizer.background else (None, None, 0)
            self._watch(tokens, messages, 1, 0)

    def _catch_up(self) -> None:
        super()._catch_up()
        self._index_history()

    def _index_history(self) -> None:
        """What left the window becomes searchable; what left memory is no longer."""
        totals = self._totals()
        start = totals["start_seq"]
        self._index.remove_before(totals["first_seq"])
        if not start or start <= self._indexed_to + 1:
            return
        for entry in self._from(self._indexed_to + 1, start):
            if not entry[FLAGS] & Flag.HIDDEN and entry[ROLE] != SYSTEM:
                self._index.add(Source(entry[SEQ], entry[TIME], self._shown(entry)))
        self._indexed_to = start - 1
        self._hold_from(self._pending_from)

    def _hold_from(self, seq: int) -> None:
        super()._hold_from(min(seq, self._indexed_to + 1))

    def compose(self, fixed_tokens: int | None = None, query: str | None = None, extra: int = 0) -> View:
        """The prompt with what was recalled for the last user message, or for a query, which serves this call alone."""
        self._catch_up()
        bare = self.outline(fixed_tokens, extra)
        anchor = self._totals()["anchor_seq"]
        chosen = (
            self._choose(bare, anchor, query, fixed_tokens is None) if anchor and bare.tokens < self._budget else []
        )
        lines = self._lines_of_block(chosen)
        if not lines:
            return super().compose(fixed_tokens, query, extra)
        block = "\n".join([OPEN, *lines, CLOSE]) + "\n\n"
        content = self._message(anchor).get("content")
        if isinstance(content, list):
            filled: object = [{"type": "text", "text": block}, *content]
            cost = self._count(block)
        else:
            filled = block + (content or "")
            cost = self._count(block + (content or "")) - self._count(content or "")
        if not self._has_room(bare, self.outline(fixed_tokens, extra + cost), anchor):
            return super().compose(fixed_tokens, query, extra)
        view = super().compose(fixed_tokens, query, extra + cost)
        at = next(i for i, e in enumerate(view.entries) if e[SEQ] == anchor)
        at += len(view.messages) - len(view.entries)  # what the head has more
        view.messages[at] = {**view.messages[at], "content": filled}
        view.recalled, view.recalled_tokens, view.recalled_seqs = block, cost, chosen
        return view

    def _has_room(self, without: View, beside: View, anchor: int) -> bool:
        """Older turns yield for what is recalled; rounds of the newest turn, and texts, do not."""
        rounds = [sum(1 for e in view.entries if e[SEQ] >= anchor) for view in (without, beside)]
        return beside.tokens <= self._budget and rounds[0] == rounds[1]

    def _choose(self, view: View, anchor: int, query: str | None, keep: bool) -> list[int]:
        """The messages to recall, oldest first: chosen once for each user message, so that a tool loop repeats them."""
        if query is None and self._chosen is not None and self._chosen[0] == anchor:
            return self._chosen[1]
        recall = self._options["recall_tokens"]
        room = self._budget - view.tokens - self._budget // SPARE
        if recall != "rest":
            room = min(room, recall)
        text = query if query is not None else "\n".join(t for _, t in texts_of(self._message(anchor)))
        room -= self._count(f"{OPEN}\n{CLOSE}\n\n") + 1
        shown = {e[SEQ] for e in view.entries}
        found: list[int] = []
        if room > 0 and text.strip():
            order = self._index.ranked(
                text[:MOST_QUERY], before=self._totals()["start_seq"], now=self._now(), half_life=self._half_life()
            )
            order = [seq for seq in order if seq not in shown and self._recallable(seq) is not None]
            fill = room
            for _ in range(4):  # headings cost too, and which are needed shows only then
                found = self.recall_tools.select(order, lambda seq: self._count(self._line(seq)) + 1, fill)
                over = self._count("\n".join(self._lines_of_block(found))) - room
                if over <= 0:
                    break
                fill -= over
            else:
                found = []
        if query is None and keep:  # a view with tokens of its own decides for itself alone
            self._chosen = (anchor, found)
        return found

    def _half_life(self) -> float | None:
        """In ms, as the index has it."""
        seconds = self._options["half_life"]
        return None if seconds is None else seconds * 1000

    def _lines_of_block(self, seqs: list[int]) -> list[str]:
        """The recalled messages, oldest first, with a heading where the day changes or an hour has passed."""
        lines = []
        day, last = "", 0
        for seq in seqs:
            entry = self._recallable(seq)
            if entry is None:
                continue
            time, now = entry[TIME], stamp(entry[TIME])
            if now[:10] != day or time - last > HEADING_GAP:
                lines.append(f"[{now}]")
            day, last = now[:10], time
            lines.append(self._line(seq))
        return lines

    def _recallable(self, seq: int) -> Entry | None:
        """A message in memory that prompts may show: a call may have lost all that it had since it was indexed."""
        entry = self._find(seq)
        return None if entry is None or entry[FLAGS] & Flag.HIDDEN else entry

    def _line(self, seq: int) -> str:
        """A recalled message: who, and its words as they were."""
        entry = self._find(seq)
        assert entry is not None
        message = self._shown(entry)
        text = "\n".join(t for _, t in texts_of(message))
        for call in message.get("tool_calls") or []:
            function = call.get("function") or {}
            text += f" [{function.get('name', 'call')} {function.get('arguments', '')}]"
        return f"{message['role']}: {escape(text)}"

    def recall(self, query: str, k: int = 5) -> list[dict[str, Any]]:
        """The k messages that left the window and match best: {text, first_seq, last_seq, time, score}, best first."""
        if not isinstance(query, str):
            raise MessageError(f"query is {type(query).__name__}; allowed: a str")
        if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= 1000:
            raise OptionError(f"k is {brief(k)}; allowed: 1..1000")
        with self.guard:
            CondensingMemory._still(self, LayeredMemory)
            self._catch_up()
            hits = self._index.search(
                query[:MOST_QUERY],
                k=k,
                before=self._totals()["start_seq"],
                now=self._now(),
                half_life=self._half_life(),
            )
            out = []
            for hit in hits:
                entry = self._recallable(hit.seq)
                if entry is not None:
                    text = "\n".join(t for _, t in texts_of(self._shown(entry)))
                    item = {"text": text, "first_seq": hit.seq, "last_seq": hit.seq, "time": entry[TIME]}
                    out.append({**item, "score": hit.score})
            return out

    def retrieve_memory(self, query: str, k: int = 3) -> list[dict[str, Any]]:
        """The k long-term entries whose keywords and words match best, best first: {summary, keywords, first_seq,
        last_seq, created}. An entry that shares nothing with the query is not returned."""
        if not isinstance(query, str):
            raise MessageError(f"query is {type(query).__name__}; allowed: a str")
        if not isinstance(k, int) or isinstance(k, bool) or not 0 <= k <= 1000:
            raise OptionError(f"k is {brief(k)}; allowed: 0..1000")
        with self.guard:
            CondensingMemory._still(self, LayeredMemory)
            self._catch_up()
            wanted = set(self.recall_tools.terms(query[:MOST_QUERY]))
            texts = [(e, set(self.recall_tools.terms(" ".join([e.summary.text, *e.keywords])))) for e in self._pool]
            found = {term: sum(term in have for _, have in texts) for term in wanted}
            scored = []
            for entry, have in texts:
                score = sum(1 / found[term] for term in wanted & have)
                score += sum(1 for word in entry.keywords if word and word.lower() in query.lower())
                if score:
                    scored.append((score, entry.last_seq, entry))
            scored.sort(key=lambda s: (-s[0], -s[1]))
            return [entry.as_dict() for _, _, entry in scored[: max(0, k)]]

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The long-term pool, oldest first, as plain values."""
        with self.guard:
            CondensingMemory._still(self, LayeredMemory)
            self._catch_up()
            return [entry.as_dict() for entry in self._pool]

    def account(self, view: View) -> list[Part]:
        """As CondensingMemory.account, with what was recalled."""
        parts = super().account(view)
        if view.recalled:
            at = next((i for i, p in enumerate(parts) if not p.included), len(parts))
            seqs = view.recalled_seqs
            parts.insert(at, Part("recalled", len(seqs), view.recalled_tokens, min(seqs), max(seqs)))
        return parts

    def _add_stats(self, stats: dict[str, Any]) -> None:
        super()._add_stats(stats)
        stats.update(long_term_entries=len(self._pool), indexed_messages=len(self._index))


MemoryConversationStore = LayeredMemory
"""The articles' name for it."""


def stamp(ms: int) -> str:
    """UTC, to the minute: 2026-01-31 09:05."""
    days, rest = divmod(ms // 60_000, 1440)
    hour, minute = divmod(rest, 60)
    # Civil date from days since 1970, in the proleptic Gregorian calendar (400 years have 146,097 days).
    days += 719_468
    era, day_of_era = divmod(days, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_from_march = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month_from_march + 2) // 5 + 1
    month = month_from_march + 3 if month_from_march < 10 else month_from_march - 9
    year = year_of_era + era * 400 + (month <= 2)
    return f"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}"


def escape(text: str) -> str:
    """Recalled text can't end the block or open another one."""
    return text.replace(CLOSE, "< /recalled>").replace(OPEN, "< recalled>")
