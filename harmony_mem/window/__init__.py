"""A window over a conversation: messages in, by seq, in whole groups; a view of them that keeps a budget.

`Window` completes the C store with what needs Python: reading messages that are not plain, calls and their results,
ids, repaired calls, shortened texts. It knows nothing of architectures; `memory` sets its marks.
"""

from __future__ import annotations

from .. import _core
from ..errors import BudgetError, HistoryError, IdConflictError, MessageError, OptionError, OversizeError, brief
from ..tokens import OVERHEADS, cost
from ..types import Part
from .message import Checked, check, repair
from .shrink import Piece, cut, level, marker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..tokens import Overhead, TokenCounter
    from ..types import Codec, Message

    Entry = tuple[int, int, int, int, int, int, int]
    """seq, role, flags, tokens, time, fingerprint of one stored message, and where the window began once it was
    added."""

__all__ = ["FLAGS", "ROLE", "SEQ", "SYSTEM", "TIME", "TOKENS", "USER", "Flag", "View", "Window", "texts_of"]

SEQ, ROLE, FLAGS, TOKENS, TIME = 0, 1, 2, 3, 4
ASSISTANT, TOOL, USER, SYSTEM = 2, 3, 1, 0


class Flag:
    """What an entry's flags say."""

    JOIN, HIDDEN, PINNED, DEAD = _core.JOIN, _core.HIDDEN, _core.PINNED, _core.DEAD
    HEAD, TURN_PINNED = _core.HEAD, _core.TURN_PINNED


APART = _core.HEAD | _core.PINNED | _core.TURN_PINNED
MAX_REMEMBERED = 1024  # cut texts whose costs are cached; shortened messages that are counted once only


class View:
    """A composed prompt: entries and their dicts, in order; its cost; and what was cut to make it fit.

    block: text that the memory made for the end of the head, and `generated` its cost. recalled: text that stands
    before the last user message's, and its cost. messages: the dicts with all that in place.
    """

    __slots__ = (
        "block",
        "entries",
        "fixed",
        "generated",
        "messages",
        "recalled",
        "recalled_seqs",
        "recalled_tokens",
        "shortened",
        "tokens",
    )

    def __init__(self, entries: list[Entry], tokens: int, fixed: int, block: str, generated: int) -> None:
        self.block = block
        self.generated = generated
        self.recalled = ""
        self.recalled_tokens = 0
        self.recalled_seqs: list[int] = []
        self.entries = entries
        self.messages: list[Message] = []
        self.tokens = tokens
        self.fixed = fixed
        self.shortened: dict[int, int] = {}  # seq -> tokens cut off


class Window(_core.WindowCore):
    """The messages of one session. Memories inherit from it, so that `add` runs without a frame in between."""

    def __init__(self) -> None:
        self._overhead: Overhead = OVERHEADS["none"]
        self._counter: TokenCounter
        self._part_tokens = 0
        self._fixed_tokens = 0
        self._block = ""  # what the memory puts at the end of the head, and its cost
        self._generated = 0
        self._budget = 0
        self._refuse_oversize = False
        self._pin_all_system = False
        self._codec: Codec | None = None
        self._on_repair: Callable[[str], None] | None = None
        self._repairs: dict[int, tuple[Message | None, int, int]] = {}  # seq -> shown form, own cost, its fingerprint
        self._cuts: dict[tuple[int, int | None, int], tuple[str, int]] = {}
        self._ids: dict[str, int] = {}
        self._ids_allowed = MAX_REMEMBERED
        self._shortened: dict[int, int] = {}
        self._counts = {"repaired": 0, "unmatched": 0, "shortened_messages": 0, "shortened_tokens": 0}

    # ------------------------------------------------------------------------------------------------ adding
    def _add(self, message: object, id: object, time: object, pinned: object) -> int:
        """What add() does for every message that is not plain: the whole rule book, in order."""
        checked = check(message)
        if id is not None and not (isinstance(id, str) and id):
            raise MessageError(f"id is {brief(id)}; allowed: a non-empty str, or None")
        if not isinstance(pinned, bool):
            raise MessageError(f"pinned is {brief(pinned)}; allowed: True or False")
        if time is None:
            time = self._now()
        if not isinstance(time, int) or isinstance(time, bool) or not 0 <= time < 1 << 63:
            raise MessageError(f"time is {brief(time)}; allowed: ms since epoch (UTC) as an int, 0 or more")
        tokens = self._cost(checked)
        packed = self._pack(checked.message)
        with self.guard:
            if isinstance(id, str) and (known := self._seq_of(id, checked.message)):
                return known
            flags = self._flags(checked, pinned)
            if self._refuse_oversize and not flags & _core.HIDDEN:
                self._check_room(checked, tokens, bool(flags & _core.JOIN))
            if self.open_calls is not None and not flags & (_core.JOIN | _core.HIDDEN):
                self._retire_calls()
            try:
                seq: int = self._append(checked.message, checked.role, flags, tokens, time, packed, checked.weight)
            except Exception:
                self._find_open_calls()  # nothing came after the call after all
                raise
            if flags & _core.HIDDEN:
                self._counts["unmatched"] += 1
            elif flags & _core.JOIN:
                self.open_calls.remove(checked.answers)
                self.open_calls = self.open_calls or None
            elif checked.call_ids:
                self.open_calls = list(checked.call_ids)
            if isinstance(id, str):
                self._ids[id] = seq
                if len(self._ids) > self._ids_allowed:
                    self._forget_ids()
        self._look()
        return seq

    def _flags(self, checked: Checked, pinned: bool) -> int:
        if checked.answers is not None:
            if self.open_calls is None or checked.answers not in self.open_calls:
                return _core.HIDDEN  # no call waits for it: kept, never shown
            return _core.JOIN | (_core.PINNED if pinned else 0)
        return _core.PINNED if pinned or (self._pin_all_system and checked.role == SYSTEM) else 0

    def _cost(self, checked: Checked) -> int:
        return cost(self._count, self._overhead, self._part_tokens, checked.texts, checked.calls, checked.parts)

    def _pack(self, message: Message) -> bytes | None:
        if self._codec is None:
            return None
        try:
            return self._codec[0](message)
        except (TypeError, ValueError, OverflowError) as error:
            raise MessageError(f"the message can't be stored: {error}") from error

    def _seq_of(self, id: str, message: Message) -> int | None:
        """The seq that has this id already. Raises IdConflictError when its content is another one."""
        seq = self._ids.get(id)
        if seq is None:
            return None
        if self._find(seq) is None:  # it has left memory, and its id with it
            self._forget_ids()
            return None
        if self._message(seq) != message:
            raise IdConflictError(f"id {brief(id)} was given to message {seq} with another content", seq=seq)
        return seq

    def _forget_ids(self) -> None:
        first = self._totals()["first_seq"]
        self._ids = {k: v for k, v in self._ids.items() if v >= first or self._find(v) is not None}
        self._ids_allowed = max(MAX_REMEMBERED, 2 * len(self._ids))  # so that forgetting is O(1) for each add

    def _check_room(self, checked: Checked, tokens: int, joins: bool) -> None:
        """oversize="refuse": what the prompt can't do without has to fit beside the new message, uncut."""
        totals = self._totals()
        needed = tokens + self._overhead.prompt + self._fixed_tokens + totals["head_tokens"] + totals["pinned_tokens"]
        for seq in {totals["anchor_seq"] if checked.role != USER else 0, totals["newest_seq"] if joins else 0} - {0}:
            for entry in self._from(seq) if seq == totals["newest_seq"] and joins else [self._find(seq)]:
                if entry is not None and not entry[FLAGS] & APART:
                    needed += entry[TOKENS]
        if needed > self._budget:
            raise OversizeError(
                f"the message costs {tokens} tokens; with what must stay beside it the prompt would cost {needed}, "
                f'the budget is {self._budget} (oversize="refuse"; "split" shortens it in the prompt instead)',
                budget=self._budget,
                needed=needed,
            )

    # ------------------------------------------------------------------------------------------------ calls
    def _newest_group(self) -> tuple[int, Message, list[str]] | None:
        """The newest group when it makes calls: seq and message of its first record, ids of the results it has."""
        newest = self._totals()["newest_seq"]
        entries = self._from(newest) if newest else []
        if not entries or entries[0][ROLE] != ASSISTANT:
            return None
        message = self._message(newest)
        if not message.get("tool_calls"):
            return None
        results = [self._message(e[SEQ])["tool_call_id"] for e in entries[1:] if e[FLAGS] & _core.JOIN]
        return newest, message, results

    def _retire_calls(self) -> None:
        """The open call is dead: another message comes, and no result can follow. Its shown form changes."""
        group = self._newest_group()
        self.open_calls = None
        if group is None:
            return
        seq, message, results = group
        found = self._find(seq)
        assert found is not None
        shown = repair(message, results)
        tokens = self._cost(check(shown)) if shown is not None else 0
        missing = len(message["tool_calls"]) - len(results)
        first_time = seq not in self._repairs
        self._repairs[seq] = (shown, found[TOKENS], found[5])
        self._set_cost(seq, tokens, _core.DEAD | (_core.HIDDEN if shown is None else 0))
        if first_time:
            self._counts["repaired"] += 1
            if self._on_repair is not None:
                self._on_repair(f"message {seq}: {missing} call(s) never got a result; prompts show it without them")

    def _find_open_calls(self) -> None:
        """After a rewind or a failed add: which calls of the newest group wait, and are they alive again?"""
        self.open_calls = None
        group = self._newest_group()
        if group is None:
            return
        seq, message, results = group
        waiting = [call["id"] for call in message["tool_calls"]]
        for answered in results:
            waiting.remove(answered)
        if not waiting:
            return
        self.open_calls = waiting
        repaired = self._repairs.get(seq)
        if repaired is not None:
            _, tokens, fingerprint = repaired
            if fingerprint != self._counter.fingerprint:
                tokens = self._cost(check(message))
            self._set_cost(seq, tokens, 0)

    # ------------------------------------------------------------------------------------------------ reading
    def _message(self, seq: int) -> Message:
        """The message as it was added, for reading."""
        stored = self._load(seq)
        if isinstance(stored, bytes):
            assert self._codec is not None
            return self._codec[1](stored)
        message: Message = stored
        return message

    def _shown(self, entry: Entry) -> Message:
        """The message as prompts show it, for reading."""
        if entry[FLAGS] & _core.DEAD:
            shown = self._repairs[entry[SEQ]][0]
            assert shown is not None
            return shown
        return self._message(entry[SEQ])

    def outline(self, fixed_tokens: int | None = None, extra: int = 0) -> View:
        """Which messages the prompt shows beside `extra` further tokens, without their content, nothing cut yet. Call
        it under the guard."""
        fixed = self._overhead.prompt + (self._fixed_tokens if fixed_tokens is None else fixed_tokens)
        tokens, entries = self._entries(fixed + self._generated + extra, self._budget)
        return View(entries, tokens, fixed, self._block, self._generated)

    def compose(self, fixed_tokens: int | None = None, query: str | None = None, extra: int = 0) -> View:
        """The prompt as it stands, texts cut where they must be; `extra` tokens are left for what the caller adds, and
        counted. Raises BudgetError. Call it under the guard."""
        view = self.outline(fixed_tokens, extra)
        if view.tokens > self._budget and view.block:
            self._yield_block(view)
        view.messages = [self._shown(e) for e in view.entries]
        if view.tokens > self._budget:
            self._shrink(view)
        self._decorate(view)
        return view

    def _yield_block(self, view: View) -> None:
        """What the memory made gives way, as far as it must, before texts are cut."""

    def _decorate(self, view: View) -> None:
        """Puts what the memory made into the messages."""

    def _shrink(self, view: View) -> None:
        """Cuts texts of the anchor and of the newest group, the largest first, until the budget holds."""
        pieces: list[Piece] = []
        for entry, message in zip(view.entries, view.messages, strict=True):
            if entry[FLAGS] & (_core.HEAD | _core.PINNED) or not self._may_shrink(entry):
                continue
            for part, text in texts_of(message):
                both_ends = entry[ROLE] == TOOL
                floor = self._count(marker(len(text)) + "\n\n" * both_ends)
                now = self._cached_count(entry[SEQ], part, text)
                pieces.append(Piece(entry[SEQ], part, text, now, floor, both_ends))
        limit = level(pieces, view.tokens - self._budget)
        if limit is None:
            raise self._over_budget(view, pieces)
        changed: dict[int, dict[int | None, str]] = {}
        for piece in pieces:
            keep = max(limit, piece.floor)
            if piece.cost <= keep:
                continue
            key = (piece.seq, piece.part, keep)
            if key not in self._cuts:
                self._trim_caches()
                self._cuts[key] = cut(piece, keep, self._count)
            text, now = self._cuts[key]
            changed.setdefault(piece.seq, {})[piece.part] = text
            view.tokens += now - piece.cost
            view.shortened[piece.seq] = view.shortened.get(piece.seq, 0) + piece.cost - now
        for i, entry in enumerate(view.entries):
            if entry[SEQ] in changed:
                view.messages[i] = _with_texts(view.messages[i], changed[entry[SEQ]])
        if view.tokens > self._budget:  # a counter whose marker costs more when it says less: nothing left to try
            raise self._over_budget(view, pieces)
        for seq, lost in view.shortened.items():
            if seq not in self._shortened:
                self._shortened[seq] = lost
                self._counts["shortened_messages"] += 1
                self._counts["shortened_tokens"] += lost

    def shortened_copy(self, message: Message, tokens: int, room: int) -> Message:
        """The message with its largest texts cut so that it costs at most `room`, as far as texts go."""
        if tokens <= room:
            return message
        pieces = []
        for part, text in texts_of(message):
            floor = self._count(marker(len(text)))
            pieces.append(Piece(0, part, text, self._count(text), floor, True))
        limit = level(pieces, tokens - room) or 0
        texts = {p.part: cut(p, max(limit, p.floor), self._count)[0] for p in pieces if p.cost > max(limit, p.floor)}
        return _with_texts(message, texts) if texts else message

    def _may_shrink(self, entry: Entry) -> bool:
        totals = self._totals()
        return bool(entry[SEQ] == totals["anchor_seq"] or entry[SEQ] >= totals["newest_seq"])

    def _cached_count(self, seq: int, part: int | None, text: str) -> int:
        key = (seq, part, -1)
        if key not in self._cuts:
            self._trim_caches()
            self._cuts[key] = ("", self._count(text))
        return self._cuts[key][1]

    def _trim_caches(self) -> None:
        if len(self._cuts) >= MAX_REMEMBERED:
            self._cuts.clear()
        while len(self._shortened) > MAX_REMEMBERED:
            del self._shortened[next(iter(self._shortened))]

    def _over_budget(self, view: View, pieces: list[Piece]) -> BudgetError:
        """The error that says where the tokens go when nothing is left to yield."""
        floors: dict[int, int] = {}
        for piece in pieces:
            floors[piece.seq] = floors.get(piece.seq, 0) + piece.cost - piece.floor
        account = {"overhead": view.fixed, "head": 0, "pinned": 0, "anchor": 0, "newest": 0}
        dearest, most = 0, -1
        anchor = self._totals()["anchor_seq"]
        for seq, _, flags, tokens, *_ in view.entries:
            tokens -= floors.get(seq, 0)
            if flags & _core.HEAD:
                kind = "head"
            elif flags & (_core.PINNED | _core.TURN_PINNED):
                kind = "pinned"
            else:
                kind = "anchor" if seq == anchor else "newest"
            account[kind] += tokens
            if tokens > most:
                dearest, most = seq, tokens
        needed = sum(account.values())
        spent = ", ".join(f"{kind} {tokens}" for kind, tokens in account.items() if tokens)
        return BudgetError(
            f"the prompt needs at least {needed} tokens, the budget is {self._budget}: {spent}; "
            f"dearest is message {dearest}",
            budget=self._budget,
            needed=needed,
            parts=account,
            seq=dearest,
        )

    # ------------------------------------------------------------------------------------------------ changing
    def rewind(self, after_seq: int) -> None:
        """Sets aside every message after `after_seq`, with its id, pins and repairs; the window goes back as well.

        For retry, edit and regenerate. Seqs are never used again; ids are free again. Raises HistoryError when the
        messages needed are no longer in memory (option history_bytes) or the seq was never given; nothing changes then.
        """
        if not isinstance(after_seq, int) or isinstance(after_seq, bool) or after_seq < 0:
            raise HistoryError(f"after_seq is {brief(after_seq)}; allowed: the seq of a message, or 0 for none")
        with self.guard:
            last = self._totals()["last_seq"]
            if after_seq > last:
                raise HistoryError(f"no message {after_seq} was added yet; the newest one is {last}")
            self._rewind(after_seq)
            self._ids = {k: v for k, v in self._ids.items() if v <= after_seq}
            self._repairs = {k: v for k, v in self._repairs.items() if k <= after_seq}
            self._cuts.clear()
            self._show_given_up_call()
            self._find_open_calls()
            self._settle()

    def _show_given_up_call(self) -> None:
        """After a rewind: a call of which nothing was left to show may stand at the end again, and be open again."""
        entries = self._from(self._totals()["newest_seq"])
        for entry in reversed(entries):
            if not entry[FLAGS] & Flag.HIDDEN:
                return
            if entry[FLAGS] & Flag.DEAD and entry[SEQ] in self._repairs:
                _, tokens, fingerprint = self._repairs[entry[SEQ]]
                if fingerprint != self._counter.fingerprint:
                    tokens = self._cost(check(self._message(entry[SEQ])))
                self._set_cost(entry[SEQ], tokens, 0)
                # The window begins where it did then; the store could not know that this call is shown again.
                begin = next(e[SEQ] for e in self._from(entries[-1][6]) if not e[FLAGS] & (Flag.HIDDEN | Flag.JOIN))
                if begin > self._totals()["start_seq"]:
                    self._advance(begin)
                return

    def unpin(self, seq: int) -> None:
        """The group of this message is an ordinary one again. Raises HistoryError when it is not in memory, and
        OptionError for a leading system message, which is always pinned."""
        if not isinstance(seq, int) or isinstance(seq, bool) or not 1 <= seq < 1 << 63:
            raise HistoryError(f"seq is {brief(seq)}; allowed: the seq of a message")
        with self.guard:
            entry = self._find(seq)
            if entry is not None and entry[FLAGS] & _core.HEAD:
                raise OptionError(f"message {seq} is a leading system message; those are always pinned")
            self._pin(seq, False)
            self._settle()

    def _recount(self) -> None:
        """Counts every message in memory anew with the counter in use. Raises CounterError; nothing changes then."""
        todo: dict[int, tuple[int, int, tuple[Message | None, int, int] | None]] = {}
        seen = {e[SEQ]: e for e in self._from(0)} | {e[SEQ]: e for e in self._entries(0, 1 << 62)[1]}
        for seq, _, flags, *_ in seen.values():
            own = self._cost(check(self._message(seq)))
            if flags & _core.DEAD:
                shown = self._repairs[seq][0]
                tokens = self._cost(check(shown)) if shown is not None else 0
                todo[seq] = (tokens, flags, (shown, own, self._counter.fingerprint))
            else:
                todo[seq] = (0 if flags & _core.HIDDEN else own, flags, None)
        for seq, (tokens, flags, repaired) in todo.items():
            self._set_cost(seq, tokens, flags)
            if repaired is not None:
                self._repairs[seq] = repaired
        self._cuts.clear()

    # ------------------------------------------------------------------------------------------------ account
    def account(self, view: View) -> list[Part]:
        """Where the view's tokens go, and what is not in it."""
        return self._parts(view, self._lines_of(view))

    def plain_account(self, tokens: int) -> list[Part]:
        """The same for the prompt as it stands, where nothing is cut or added: without a look at each message."""
        fixed = self._overhead.prompt + self._fixed_tokens
        return self._parts(View([], tokens, fixed, "", 0), self._lines(fixed, self._budget))

    def _lines_of(self, view: View) -> list[tuple[int, int, int, int]]:
        """For head, pinned, anchor and window: messages, tokens, first and last seq."""
        start = self._totals()["start_seq"] or 1 << 63
        lines = [[0, 0, 0, 0] for _ in range(4)]
        for seq, _, flags, tokens, *_ in view.entries:
            if flags & Flag.HEAD:
                line = lines[0]
            elif seq >= start:
                line = lines[3]
            else:
                line = lines[1] if flags & (Flag.PINNED | Flag.TURN_PINNED) else lines[2]
            line[0] += 1
            line[1] += tokens
            line[2] = line[2] or seq
            line[3] = seq
        return [(line[0], line[1], line[2], line[3]) for line in lines]

    def _parts(self, view: View, lines: list[tuple[int, int, int, int]]) -> list[Part]:
        totals = self._totals()
        parts = [Part("overhead", 0, view.fixed)]
        parts += [
            Part(kind, *line)
            for kind, line in zip(("head", "pinned", "anchor", "window"), lines, strict=True)
            if line[0]
        ]
        by_kind = {part.kind: part for part in parts}
        for seq, lost in view.shortened.items():
            found = self._find(seq)
            apart = "pinned" if found is not None and found[FLAGS] & Flag.TURN_PINNED else "anchor"
            by_kind["window" if seq >= totals["start_seq"] else apart].tokens -= lost
        shown, full = sum(line[0] for line in lines[1:]), sum(line[1] for line in lines[1:])
        left = totals["outside_records"] + totals["kept_records"] + totals["window_records"] - shown
        if left:
            lost = totals["outside_tokens"] + totals["kept_tokens"] + totals["window_tokens"] - full
            parts.append(Part("evicted", left, lost, included=False))
        if view.shortened:
            first, last = min(view.shortened), max(view.shortened)
            parts.append(
                Part("shortened", len(view.shortened), sum(view.shortened.values()), first, last, included=False)
            )
        if self._counts["repaired"]:
            parts.append(Part("repaired", self._counts["repaired"], 0, included=False))
        if self._counts["unmatched"]:
            parts.append(Part("unmatched", self._counts["unmatched"], 0, included=False))
        return parts


def texts_of(message: Message) -> list[tuple[int | None, str]]:
    """The texts of a message's content that are not empty, each with the index of its part; None for a plain
    content."""
    content = message.get("content")
    found: list[tuple[int | None, object]] = []
    if isinstance(content, list):
        found = [(i, part.get("text") if isinstance(part, dict) else part) for i, part in enumerate(content)]
    else:
        found = [(None, content)]
    return [(part, text) for part, text in found if isinstance(text, str) and text]


def _with_texts(message: Message, texts: dict[int | None, str]) -> Message:
    """A copy of the message with some of its texts replaced; everything else, unknown keys included, stays."""
    if None in texts:
        return {**message, "content": texts[None]}
    content: list[Any] = list(message["content"])
    for part, text in texts.items():
        assert part is not None
        content[part] = text if isinstance(content[part], str) else {**content[part], "text": text}
    return {**message, "content": content}
