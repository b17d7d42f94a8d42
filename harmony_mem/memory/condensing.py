"""What the summary and the layered memory share: choosing what is condensed, handing it to the summariser in chunks,
and taking the result in under the memory's guard. The rules of when are in condenser.py.

What has to leave the window waits in the store's history, held, until it is condensed: while a summariser is slow or
fails the budget still holds and nothing is forgotten. Open calls, pinned groups, the anchor and system messages are
never condensed.
"""

from __future__ import annotations

from ..errors import CounterError, OptionError
from ..types import Part, Source, Summary
from ..window import FLAGS, ROLE, SEQ, SYSTEM, TIME, TOKENS, USER, Flag, View
from .base import Memory
from .condenser import Condenser, Run
from .covered import Covered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Protocol

    from ..types import Message
    from ..window import Entry

    class SummarizerLike(Protocol):
        """What harmony_mem.summarizers resolves the option `summarizer` to."""

        max_input_tokens: int | None
        background: bool

        def summarize(
            self, sources: list[Source], previous: Summary | None, target_tokens: int, count: Any
        ) -> Summary | str | None: ...

    class Tools(Protocol):
        """The functions of the summarizers room, handed in by create."""

        def resolve(self, spec: object) -> SummarizerLike: ...
        def accept(self, result: object, sources: list[Source], previous: Summary | None) -> Summary | None: ...
        def ground(self, summary: Summary, sources: list[Source], previous: Summary | None) -> tuple[Summary, int]: ...
        def fit(self, summary: Summary, limit_tokens: int, count: Any) -> Summary: ...


__all__ = ["CondensingMemory"]

CATCH_UP = 64
"""A summariser that runs at once does so when a prompt is asked for, or when this many messages wait."""
KEPT_SHARE = 10
"""Beside `keep_recent` messages at least this part of the recent tokens stays: two short messages say too little."""
MAX_VERSIONS = 64

CONDENSING_OPTIONS: dict[str, Any] = {
    "summarizer": None,
    "summary_token_limit": 600,
    "summary_placement": "own",
    "cooldown": 20,
    "timeout": 30,
}


class CondensingMemory(Memory):
    """A memory whose window hands what leaves it to a summariser."""

    tools: ClassVar[Tools]  # set by create, which knows the summarizers
    _condenser: Condenser  # once this architecture has been at work

    @classmethod
    def check_options(cls, options: dict[str, Any]) -> None:
        """The summarizer is one, or a name of one."""
        cls.tools.resolve(options["summarizer"])

    # ------------------------------------------------------------------------------------------------ state
    def _enter(self, options: dict[str, Any]) -> None:
        spec = options["summarizer"]
        if not hasattr(self, "_versions"):
            self._summary: Summary | None = None
            self._covered = Covered()
            self._pool: list[Any] = []  # the layered memory's long-term entries
            self._versions: list[tuple[int, Any]] = []  # (newest seq of a change, the state before it)
            self._pending_from = 1  # no message before it waits to be condensed
            self._generation = 0
            self._condensed = {"messages": 0, "tokens": 0, "ungrounded": 0}
            self._spec: object = object()
            self._condenser = Condenser(False, 0, 0, None)
        if spec is not self._spec:
            self._summarizer = self.tools.resolve(spec)
            self._spec = spec
            self._stop_run()
        self._condenser.configure(
            self._summarizer.background, options["cooldown"], options["timeout"], options["clock"]
        )
        self.decorated = True
        if self._set_aside_after is not None:  # while another architecture was at work
            self._take_back(self._set_aside_after)
            self._set_aside_after = None
        self._adopt()
        self._render_head()
        self._rewatch()

    def _leave(self) -> None:
        self._stop_run()
        self._watch(None, None, None, 0)
        self._hold(0)
        self.decorated = False
        self._generated = 0
        self._block = ""

    def _stop_run(self) -> None:
        """Whatever a run still answers belongs to a state that is no more."""
        self._generation += 1
        self._condenser.abandon()

    def _state(self) -> Any:
        return self._summary, self._covered.copy(), list(self._pool)

    def _set_state(self, state: Any) -> None:
        self._summary, self._covered, self._pool = state[0], state[1].copy(), list(state[2])

    def _adopt(self) -> None:
        """Takes over what another condensing architecture has condensed, in this one's form."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------------ what is due
    def _limits(self) -> tuple[int | None, int | None, int]:
        """(tokens, messages) that the recent part may have, and how many messages stay when it has more."""
        raise NotImplementedError

    def _boundary(self) -> int:
        """The seq of the first message that stays word for word."""
        totals = self._totals()
        start: int = totals["start_seq"]
        tokens, messages, keep = self._limits()
        recent = totals["kept_tokens"] + totals["window_tokens"] - totals["pinned_tokens"]
        if not start or ((tokens is None or recent <= tokens) and (messages is None or totals["messages"] <= messages)):
            return start
        shown = [e for e in self._from(start) if not e[FLAGS] & Flag.HIDDEN]
        newest, anchor = totals["newest_seq"], totals["anchor_seq"]
        at = max(0, len(shown) - keep)
        least, left = (tokens or 0) // KEPT_SHARE, sum(e[TOKENS] for e in shown[at:])
        while at and left + shown[at - 1][TOKENS] <= least:
            at -= 1
            left += shown[at][TOKENS]
        while at and (shown[at][FLAGS] & Flag.JOIN or shown[at][SEQ] > newest):
            at -= 1
        if shown[at][SEQ] < anchor:  # an older turn: from its question on, if that is not all there is
            turn = at
            while turn and shown[turn][ROLE] != USER:
                turn -= 1
            if turn:
                at = turn
        return max(start, shown[at][SEQ])

    def _pick(self, boundary: int) -> tuple[list[Entry], int]:
        """The messages before the boundary that wait to be condensed, oldest first; and the oldest seq that can still
        wait when they are done."""
        if not boundary:
            return [], self._pending_from
        entries = self._from(self._pending_from, boundary)
        stays = {self._totals()["anchor_seq"], self._question_of(boundary, entries)}
        picked = [
            e
            for e in entries
            if e[SEQ] not in stays
            and not e[FLAGS] & (Flag.HIDDEN | Flag.PINNED | Flag.TURN_PINNED)
            and e[ROLE] != SYSTEM
            and e[SEQ] not in self._covered
        ]
        return picked, min([e[SEQ] for e in entries if e[SEQ] in stays] or [boundary])

    def _question_of(self, boundary: int, entries: list[Entry]) -> int:
        """The user message that stays in front of a window which begins inside its turn, or 0."""
        first = self._find(boundary)
        if first is None or first[ROLE] == USER:
            return 0
        return next((e[SEQ] for e in reversed(entries) if e[ROLE] == USER and not e[FLAGS] & Flag.HIDDEN), 0)

    # ------------------------------------------------------------------------------------------------ running
    def _on_notice(self) -> None:
        self._start_if_due()

    def _start_if_due(self) -> bool:
        """Starts a run when one is due. True when one was started."""
        wait = self._condenser.wait()
        started = False
        if wait == 0:
            boundary = self._boundary()
            picked, rest = self._pick(boundary)
            if picked:
                self._hold_from(min(picked[0][SEQ], rest))
                chunks = self._chunks(picked)
                started = self._condenser.start(
                    self._generation, lambda run: CondensingMemory._work(self, run, chunks, boundary, rest)
                )
            else:
                self._pending_from = rest
                self._hold_from(rest)
                self._advance_to(boundary)
        self._rewatch()
        return started

    def _rewatch(self) -> None:
        """When add() has to look again."""
        evicted, wait = self._evicted_count(), self._condenser.until_next_look()
        if not self._summarizer.background:
            self._watch(None, None, evicted + CATCH_UP, 0)
            return
        tokens, messages, _ = self._limits()
        import time

        self._watch(tokens, messages, evicted + 1, time.time_ns() // 1_000_000 + wait if wait > 0 else 0)

    def _catch_up(self) -> None:
        """Before a prompt is made: what is due of a summariser that runs at once; else only whether a run took too
        long."""
        if self._condenser.background:
            self._condenser.give_up_overdue()
            return
        while self._start_if_due():
            pass

    def _hold_from(self, seq: int) -> None:
        """From this message on history is kept: it waits to be condensed."""
        self._hold(seq)

    def _chunks(self, picked: list[Entry]) -> list[list[Entry]]:
        """Stretches that fit the summariser's own window, cut between groups where one fits."""
        most = self._summarizer.max_input_tokens
        if most is None:
            return [picked]
        room = max(1, most - self._previous_tokens())
        groups: list[list[Entry]] = []
        for entry in picked:
            if groups and entry[FLAGS] & Flag.JOIN:
                groups[-1].append(entry)
            else:
                groups.append([entry])
        chunks: list[list[Entry]] = []
        used = room + 1
        for group in groups:
            size = sum(e[TOKENS] for e in group)
            for part in [group] if size <= room else [[e] for e in group]:
                size = sum(e[TOKENS] for e in part)
                if used + size > room:
                    chunks.append([])
                    used = 0
                chunks[-1].extend(part)
                used += size
        return chunks

    def _previous_tokens(self) -> int:
        """What the previous summary takes of the summariser's window, at most."""
        limit: int = self._options["summary_token_limit"]
        return limit

    def _work(self, run: Run, chunks: list[list[Entry]], boundary: int, rest: int) -> None:
        """One run: each chunk is read under the guard, summarised without it, and taken in under it."""
        try:
            for i, chunk in enumerate(chunks):
                with self.guard:
                    if not _wanted(self, run):
                        return
                    sources = [self._source(e) for e in chunk]
                    original = [self._source(e) for e in chunk]  # the summariser may change what it gets
                    previous = self._previous()
                    limit = self._target()
                    self._condenser.counts["calls"] += 1
                    counter = self._counter
                try:
                    answer = self._summarizer.summarize(sources, previous, limit, counter.count)
                    summary = CondensingMemory.tools.accept(answer, original, previous)
                    if summary is None:
                        raise ValueError("the summariser answered nothing")
                except BaseException as error:  # SystemExit too: it is the summariser's, not the process's
                    with self.guard:
                        if _wanted(self, run):
                            self._condenser.failed(f"{type(error).__name__}: {str(error)[:200]}")
                    return
                with self.guard:
                    if not _wanted(self, run):
                        return
                    try:
                        summary, dropped = self.tools.ground(summary, original, previous)
                        self._condensed["ungrounded"] += dropped
                        self._take_in(summary, chunk)
                    except CounterError as error:  # the head can't be counted: tried again later, not the adder's fault
                        self._condenser.failed(str(error)[:200])
                        return
                    if i == len(chunks) - 1:
                        self._pending_from = rest
                        self._hold_from(rest)
                        self._advance_to(boundary)
                    self._condenser.succeeded()
        finally:
            with self.guard:
                self._condenser.end(run)
                if not self.closed and isinstance(self, CondensingMemory):
                    self._rewatch()

    def _source(self, entry: Entry) -> Source:
        """The message as a summariser gets it: a deep copy, shortened when it alone exceeds the summariser's window."""
        message: Message = _deep(self._shown(entry))
        most = self._summarizer.max_input_tokens
        if most is not None:
            room = max(1, most - self._previous_tokens())
            message = self.shortened_copy(message, entry[TOKENS], room)
        return Source(entry[SEQ], entry[TIME], message)

    def _target(self) -> int:
        """What the summariser's answer may cost."""
        limit: int = self._options["summary_token_limit"]
        return limit

    def _previous(self) -> Summary | None:
        """What the summariser builds on."""
        return self._summary

    def _take_in(self, summary: Summary, chunk: list[Entry]) -> None:
        """A chunk's result becomes part of the memory."""
        seqs = [e[SEQ] for e in chunk]
        self._versions.append((seqs[-1], self._state()))
        del self._versions[:-MAX_VERSIONS]
        self._store_result(summary, chunk)
        between = self._from(seqs[0], seqs[-1] + 1)
        self._covered.add_seqs(seqs, [e[SEQ] for e in between if e[SEQ] not in seqs and e[ROLE] == USER])
        self._condensed["messages"] += len(seqs)
        self._condensed["tokens"] += sum(e[TOKENS] for e in chunk)
        self._render_head()

    def _store_result(self, summary: Summary, chunk: list[Entry]) -> None:
        raise NotImplementedError

    def _advance_to(self, boundary: int) -> None:
        """The window begins at the boundary, unless an eviction has taken it further already."""
        if boundary > self._totals()["start_seq"]:
            self._advance(boundary)

    # ------------------------------------------------------------------------------------------------ the head
    def _render_head(self) -> None:
        """Makes the generated part of the head anew; called only when what it shows has changed."""
        text = self._head_text()
        self._block = text
        self._generated = self._block_cost(text) if text else 0
        self._set_marks()

    def _block_cost(self, text: str) -> int:
        merged = self._merge_target()
        if merged is not None:
            own = merged["content"]
            return self._count(f"{own}\n\n{text}") - self._count(own)
        return self._overhead.message + self._count(text)

    def _merge_target(self) -> Message | None:
        """The system message that the block is merged into, if it is and there is one."""
        if self._options["summary_placement"] != "merged":
            return None
        first = self._entries(0, 1 << 62)[1][:1]
        message = self._message(first[0][SEQ]) if first and first[0][FLAGS] & Flag.HEAD else None
        return message if message is not None and isinstance(message.get("content"), str) else None

    def _decorate(self, view: View) -> None:
        """Puts the block at the end of the head."""
        if not view.block:
            return
        heads = sum(1 for e in view.entries if e[FLAGS] & Flag.HEAD)
        if heads and self._merge_target() is not None:
            first = view.messages[0]
            view.messages[0] = {**first, "content": f"{first['content']}\n\n{view.block}"}
        else:
            view.messages.insert(heads, {"role": "system", "content": view.block})

    def _yield_block(self, view: View) -> None:
        """Summary and facts give way before the texts of anchor and newest group do."""
        room = self._budget - (view.tokens - view.generated)
        text = self._shrunk_block(room) if room > 0 else ""
        now = self._block_cost(text) if text else 0
        if now > max(room, 0):
            text, now = "", 0
        view.tokens += now - view.generated
        view.generated, view.block = now, text

    def _shrunk_block(self, room: int) -> str:
        return self._text(min(room, self._block_limit()))

    def _head_text(self) -> str:
        return self._text(self._block_limit())

    def _text(self, limit: int) -> str:
        """The block, as far as it fits the limit; its message's overhead is part of its cost."""
        raise NotImplementedError

    def _block_limit(self) -> int:
        """What the block may cost: its own limit, but not the room that the recent part needs in a small budget."""
        limit: int = self._options["summary_token_limit"]
        tokens, _, _ = self._limits()
        totals = self._totals()
        taken = self._overhead.prompt + self._fixed_tokens + totals["head_tokens"] + totals["pinned_tokens"]
        room = self._budget - taken - (tokens or 0)
        if not tokens:
            return min(limit, self._budget * 11 // 100)
        return min(limit, int(max(room, self._budget // 6)))

    def compose(self, fixed_tokens: int | None = None, query: str | None = None, extra: int = 0) -> View:
        """The prompt, with what is due of the summary taken in first."""
        self._catch_up()
        return super().compose(fixed_tokens, query, extra)

    # ------------------------------------------------------------------------------------------------ life
    def _due_run(self) -> Any:
        if not self._condenser.background:
            self._catch_up()
            return None
        self._condenser.give_up_overdue()
        if self._condenser.running is None and not self._start_if_due():
            return None
        run = self._condenser.running
        return run.ended if run is not None else None

    def _after_set_aside(self, after_seq: int) -> None:
        """A summary that covers what was set aside is as it was before; the window moves past what is covered."""
        self._take_back(after_seq)
        self._render_head()
        start, newest = self._totals()["start_seq"], self._totals()["newest_seq"]
        shown = (e for e in self._from(start) if not e[FLAGS] & (Flag.JOIN | Flag.HIDDEN))
        uncovered = next((e[SEQ] for e in shown if e[SEQ] not in self._covered), 0)
        if start and uncovered > start:
            self._advance_to(min(uncovered, newest))
        self._rewatch()

    def _take_back(self, after_seq: int) -> None:
        """What covers messages after this one is as it was before it did."""
        self._stop_run()
        # The newest group is shown word for word: no summary covers it.
        most = min(after_seq, max(0, self._totals()["newest_seq"] - 1))
        while self._versions and self._versions[-1][0] > most:
            self._set_state(self._versions.pop()[1])
        if self._covered.last > most:  # changed too often since: what surely rests on what is left stays
            self._cut_state(most)
        self._pending_from = 1
        self._after_rewind(after_seq)

    def _cut_state(self, after_seq: int) -> None:
        self._covered.cut(after_seq)
        self._pool = [e for e in self._pool if e.last_seq <= after_seq]
        if self._summary is not None:
            kept = [i for i in self._summary.items if all(s <= after_seq for s in i.source_seqs)]
            self._summary = Summary(kept, self._summary.keywords) if kept else None

    def _after_rewind(self, after_seq: int) -> None:
        """For what else hangs on seqs."""

    def _add_stats(self, stats: dict[str, Any]) -> None:
        self._condenser.give_up_overdue()
        counts = self._condenser.counts
        stats.update(
            summary_tokens=self._generated,
            condensed_messages=self._condensed["messages"],
            condensed_tokens=self._condensed["tokens"],
            ungrounded_items=self._condensed["ungrounded"],
            model_calls=counts["calls"] if self._summarizer.background else 0,
            summaries_failed=counts["failed"],
            summaries_timed_out=counts["timed_out"],
            summaries_stale=counts["stale"],
            summarizing=self._condenser.running is not None,
            last_summary_error=self._condenser.last_error,
        )

    def _still(self, cls: type[CondensingMemory]) -> None:
        """For what only one architecture offers: another thread may have configured another one meanwhile."""
        self._totals()
        if not isinstance(self, cls):
            raise OptionError(
                f"this memory is {self.architecture!r} now; configure {cls.architecture or 'summary'!r} for this call"
            )

    @property
    def summary(self) -> Summary | None:
        """The summary as it stands, what is due taken in first; None when there is none. Not to be changed."""
        with self.guard:
            CondensingMemory._still(self, CondensingMemory)
            self._catch_up()
            return self._summary

    @property
    def covered(self) -> list[tuple[int, int]]:
        """The seqs that were condensed, as inclusive intervals."""
        return list(self._covered.intervals)

    def account(self, view: View) -> list[Part]:
        """As Window.account, with the summary."""
        parts = super().account(view)
        if view.block:
            at = next((i + 1 for i, p in enumerate(parts) if p.kind == "head"), 1)
            covered = self._covered.intervals
            first, last = (covered[0][0], covered[-1][1]) if covered else (0, 0)
            merged = self._merge_target() is not None
            parts.insert(at, Part("summary", 0 if merged else 1, view.generated, first, last))
        return parts


def _wanted(memory: CondensingMemory, run: Run) -> bool:
    """False, and counted, when the run's state is no more: abandoned, rewound, cleared, closed, another architecture.

    No method: in the last case the memory's class is not this one any more.
    """
    if run.abandoned or run.generation != memory._generation or memory.closed:
        memory._condenser.counts["stale"] += 1
        return False
    return True


def _deep(value: Any) -> Any:
    """A copy of a message all the way down, so that a summariser may do what it likes with it."""
    if isinstance(value, dict):
        return {k: _deep(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_deep(v) for v in value]
    return value
