"""What all memories share: options, the prompt, configure, stats, life and end. An architecture adds its marks."""

from __future__ import annotations

from ..errors import MessageError, OptionError, brief, nearest
from ..tokens import OVERHEADS
from ..tokens import resolve as resolve_counter
from ..types import Part, Prompt
from ..window import Window
from . import options as option_table
from .render import STYLES, render

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, ClassVar, Self

    from ..types import Codec, Message
    from .condenser import Condenser

__all__ = ["ARCHITECTURES", "Memory"]

ARCHITECTURES: dict[str, type[Memory]] = {}
"""Every memory by name; a subclass of Memory enters itself."""


class Memory(Window):
    """A conversation memory: messages in, a prompt within the budget out.

    May be used from several threads. Not made directly: use create_memory, FixedWindowMemory or SlidingWindowMemory.
    """

    architecture: ClassVar[str] = ""
    own_options: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls) -> None:
        if cls.architecture:
            ARCHITECTURES[cls.architecture] = cls

    def __init__(self, *, codec: Codec | None = None, **options: Any) -> None:
        super().__init__()
        if not self.architecture:
            raise OptionError(f"Memory is abstract; use create_memory with one of {', '.join(ARCHITECTURES)}")
        self._given: dict[str, Any] = {}
        self._options: dict[str, Any] = {}
        self._codec = codec
        self._set_aside_after: int | None = None  # of what an architecture not at work now has condensed
        self._condenser: Condenser | None = None
        self._apply(type(self), options)

    # ------------------------------------------------------------------------------------------------ options
    @classmethod
    def check_options(cls, options: dict[str, Any]) -> None:
        """Raises OptionError for what only this architecture can judge."""

    def marks(self, options: dict[str, Any], budget: int) -> tuple[int, int | None, int | None]:
        """(overlap_tokens, max_messages, max_turns) of this architecture."""
        raise NotImplementedError

    def configure(self, architecture: str | None = None, **options: Any) -> None:
        """Changes options, or the architecture itself, of a live memory. No message is lost.

        What is not given stays as it was given before; what was never given has the default of the new architecture.
        The window refills from what is still in memory when the budget grew, and evicts when it shrank. Another counter
        recounts what is in memory. Raises OptionError, CounterError; nothing changes then.
        """
        with self.guard:
            cls = type(self)
            if architecture is not None and architecture != self.architecture:
                cls = lookup(architecture)
            self._apply(cls, options)

    def _apply(self, cls: type[Memory], given: dict[str, Any]) -> None:
        known = {**option_table.COMMON, "preset": None, **cls.own_options}
        # An option of another architecture, given before, waits until that one is configured again.
        merged = {**{k: v for k, v in self._given.items() if k in known}, **given}
        options = option_table.resolve(cls.architecture, cls.own_options, merged)
        cls.check_options(options)
        budget = options["max_tokens"] - options["reserve_tokens"]
        before = getattr(self, "_counter", None), self._overhead, self._part_tokens
        same_counter = self._options.get("counter") == options["counter"] and before[0] is not None
        counter = before[0] if same_counter else resolve_counter(options["counter"])
        assert counter is not None
        overhead = OVERHEADS[options["overhead"]]
        self._use_counter(counter, overhead, options["part_tokens"])
        if before[0] is not None and (counter, overhead, self._part_tokens) != before:
            try:
                self._recount()
            except Exception:
                self._use_counter(*before)
                raise
        if cls is not type(self):
            self._leave()
            self.__class__ = cls
        self._given = {**self._given, **given}
        self._options = options
        self._budget = budget
        self._fixed_tokens = options["fixed_tokens"]
        self._refuse_oversize = options["oversize"] == "refuse"
        self._pin_all_system = options["pin_system"] == "all"
        self._set_clock(options["clock"])
        self._set_limits(options["limit_bytes"], options["history_bytes"])
        self.plain = self._codec is None and not self._refuse_oversize and not self._pin_all_system
        self._set_marks()
        self._enter(options)
        self._refill()

    def _set_marks(self) -> None:
        """The window's marks, from the options and from what the memory itself puts into the head."""
        overlap, max_messages, max_turns = self.marks(self._options, self._budget)
        fixed = self._overhead.prompt + self._fixed_tokens + self._generated
        high = min(self._window_budget(), self._budget)
        self._set_policy(high, overlap, fixed, max_messages, max_turns, self._budget - high)

    def _window_budget(self) -> int:
        """What head and window may cost together before older turns are evicted."""
        return self._budget

    def _enter(self, options: dict[str, Any]) -> None:
        """The architecture takes over, or its options changed."""

    def _leave(self) -> None:
        """Another architecture takes over."""

    def _before_prompt(self) -> None:
        """A prompt is asked for; the guard is not taken yet."""
        if self._condenser is not None and self.decorated:
            self._condenser.grace()

    def _noticed(self) -> None:
        with self.guard:
            if not self.closed:
                self._on_notice()

    def _use_counter(self, counter: Any, overhead: Any, part_tokens: int) -> None:
        self._counter, self._overhead, self._part_tokens = counter, overhead, part_tokens
        self._set_counter(counter.native, counter.call, counter.fingerprint, overhead.message)

    # ------------------------------------------------------------------------------------------------ prompts
    def prompt(self, query: str | None = None, *, fixed_tokens: int | None = None) -> Prompt:
        """The prompt and its account. Asking changes nothing. Raises BudgetError, ClosedError.

        `query` is for memories that recall; `fixed_tokens` (tool schemas and the like) is for this call alone.
        """
        _check_call(query, fixed_tokens)
        self._before_prompt()
        with self.guard:
            view = self.compose(fixed_tokens, query)
            return Prompt([dict(m) for m in view.messages], view.tokens, self._counter.exact, self.account(view))

    def _messages(self, query: str | None, fixed_tokens: int | None, copy: bool) -> list[Message]:
        """What messages() does when the prompt is not plain."""
        _check_call(query, fixed_tokens)
        self._before_prompt()
        with self.guard:
            found = self.compose(fixed_tokens, query).messages
            return [dict(m) for m in found] if copy else found

    def build_prompt(self, style: str = "plain", query: str | None = None, *, fixed_tokens: int | None = None) -> str:
        """The prompt as one text: "plain" has a `role: content` line a message, "chatml" is that template."""
        if not isinstance(style, str) or style not in STYLES:
            raise OptionError(f"style is {brief(style)}; allowed: {', '.join(map(repr, STYLES))}")
        return render(self.messages(query, fixed_tokens=fixed_tokens, copy=False), style)

    def encoded_messages(
        self, query: str | None = None, *, fixed_tokens: int | None = None
    ) -> tuple[bytes, int, bool, list[Part]]:
        """For a memory with a codec: the prompt's messages as a MessagePack array, its cost, exactness and account."""
        assert self._codec is not None
        _check_call(query, fixed_tokens)
        self._before_prompt()
        with self.guard:
            packed = self._gather() if fixed_tokens is None else None
            if packed is not None:  # a copy of spans, nothing is unpacked
                tokens = self._stored_tokens()
                return packed, tokens, self._counter.exact, self.plain_account(tokens)
            view = self.compose(fixed_tokens, query)
            pack = self._codec[0]
            packed = b"\xdd" + len(view.messages).to_bytes(4, "big") + b"".join(map(pack, view.messages))
            return packed, view.tokens, self._counter.exact, self.account(view)

    @property
    def token_count(self) -> int:
        """prompt().token_count. Raises as prompt() does."""
        self._before_prompt()
        with self.guard:
            whole = None if self.decorated else self._view_tokens()
            return self.compose().tokens if whole is None else whole

    @property
    def stored_tokens(self) -> int:
        """Overhead, head and window as stored: never an error; above the budget while texts have to be shortened."""
        return self._stored_tokens()

    @property
    def last_seq(self) -> int:
        """Seq of the newest message ever added, 0 before the first one."""
        return self._last_seq()

    @property
    def evicted_count(self) -> int:
        """Messages that left the window since the memory was made."""
        return self._evicted_count()

    # ------------------------------------------------------------------------------------------------ life
    def stats(self) -> dict[str, Any]:
        """What the memory holds and did, as plain values. Token sums are by the counter in use.

        prefix_reuse: mean share of a prompt's tokens that lie in the common start with the prompt before it, over the
        prompts after each add; 1.0 before the second one.
        """
        with self.guard:
            t = self._totals()
            stats: dict[str, Any] = {
                "architecture": self.architecture,
                "counter": self._counter.name,
                "exact": self._counter.exact,
                "budget": self._budget,
                "stored_tokens": self._stored_tokens(),
                "head_messages": t["head_records"],
                "head_tokens": t["head_tokens"],
                "pinned_tokens": t["pinned_tokens"],
                "window_messages": t["window_records"],
                "window_tokens": t["window_tokens"],
                "window_turns": t["turns"],
                "history_messages": t["history_records"],
                "history_bytes": t["history_bytes"],
                "last_seq": t["last_seq"],
                "evicted_messages": t["evicted_records"],
                "evicted_tokens": t["evicted_tokens"],
                "dropped_messages": t["dropped_records"],
                **self._counts,
                "open_calls": len(self.open_calls or ()),
                "prefix_reuse": t["reuse_share"],
                "core_bytes": t["bytes"],
            }
            self._add_stats(stats)
            return stats

    def settle(self, timeout: float | None = None) -> bool:
        """Waits for work that runs or is due now (summaries, index), never for cooldown or backoff. True when none is
        left, False when `timeout` seconds have passed before. Windows have none."""
        import time

        end = None if timeout is None else time.monotonic() + timeout
        while True:
            with self.guard:
                self._totals()
                ended = self._due_run()
            if ended is None:
                return True
            left = 0.05 if end is None else min(0.05, end - time.monotonic())
            if left <= 0:
                return False
            if ended.acquire(timeout=left):
                ended.release()

    # Threads: configure may change the architecture, and with it the class, while another thread waits for the guard.
    # So what users call stands in this class alone; it takes the guard, and only then asks for what the architecture
    # does.

    def _due_run(self) -> Any:
        """Starts what is due; the lock that the run which goes on holds until its end, or None."""
        return None

    def _after_set_aside(self, after_seq: int) -> None:
        """Messages after this one were set aside."""
        before = self._set_aside_after
        self._set_aside_after = after_seq if before is None else min(before, after_seq)

    def _add_stats(self, stats: dict[str, Any]) -> None:
        """What the architecture has to say in stats()."""

    def _on_notice(self) -> None:
        """An add has passed one of the limits that were given to _watch."""

    @property
    def window_start(self) -> int:
        """Seq of the window's first message, 0 when it is empty."""
        start: int = self._totals()["start_seq"]
        return start

    def rewind(self, after_seq: int) -> None:
        """See Window.rewind."""
        with self.guard:
            super().rewind(after_seq)
            self._after_set_aside(after_seq)

    def clear(self) -> None:
        """Empties the session. Seqs go on, ids are free again."""
        with self.guard:
            self._clear()
            self._ids.clear()
            self._repairs.clear()
            self._cuts.clear()
            self._shortened.clear()
            self.open_calls = None
            self._after_set_aside(0)

    def close(self) -> None:
        """Frees the memory; any later call raises ClosedError. Closing twice is fine."""
        with self.guard:
            if self._condenser is not None:
                self._condenser.abandon()
            self._close()
            self._ids.clear()
            self._repairs.clear()
            self._cuts.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.closed:
            return f"<{type(self).__name__}, closed>"
        return f"<{type(self).__name__}: {self.last_seq} messages, {self.stored_tokens} of {self._budget} tokens>"


def _check_call(query: object, fixed_tokens: object) -> None:
    if query is not None and not isinstance(query, str):
        raise MessageError(f"query is {type(query).__name__}; allowed: a str, or None for the last user message")
    if fixed_tokens is not None and (
        not isinstance(fixed_tokens, int)
        or isinstance(fixed_tokens, bool)
        or fixed_tokens < 0
        or fixed_tokens >= 1 << 48
    ):
        raise OptionError(f"fixed_tokens is {brief(fixed_tokens)}; allowed: an int, 0 or more")


def lookup(architecture: object) -> type[Memory]:
    """The class of an architecture. Raises OptionError for an unknown name."""
    if isinstance(architecture, str) and architecture in ARCHITECTURES:
        return ARCHITECTURES[architecture]
    near = nearest(architecture, list(ARCHITECTURES)) if isinstance(architecture, str) else ""
    raise OptionError(f"unknown architecture {brief(architecture)}{near}; allowed: {', '.join(sorted(ARCHITECTURES))}")
