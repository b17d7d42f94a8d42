"""The registry of open sessions: which memory belongs to which namespace, user and session.

There is no default session and no way to name another namespace: it is part of every key and comes from the
connection, never from what a client says.
"""

from __future__ import annotations

from harmony_mem.create import create_memory
from harmony_mem.errors import OptionError, SidecarError, nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class Listener(Protocol):
        watching: set[Any]


__all__ = ["OPTIONS", "Session", "Sessions"]

# The options that a client may give. Not here: what only a Python caller can give (a callable as the counter, clock)
# and what the sidecar decides (limit_bytes, codec).
OPTIONS = [
    "cooldown",
    "counter",
    "fixed_tokens",
    "half_life",
    "history_bytes",
    "keep_recent",
    "max_messages",
    "max_recent_tokens",
    "max_short",
    "max_tokens",
    "max_turns",
    "overhead",
    "overlap_tokens",
    "oversize",
    "part_tokens",
    "pin_system",
    "preset",
    "recall_tokens",
    "reserve_tokens",
    "summarizer",
    "summary_placement",
    "summary_token_limit",
    "timeout",
]
COUNTERS = ["chars/2", "estimate"]
SUMMARIZERS = ["extractive"]
_LONGEST = 64  # characters of a name that anything is called by: what is longer is cut where it is quoted


def check_options(options: dict[str, Any]) -> None:
    """Raises SidecarError(unknown_option) or OptionError for what no client may ask of a memory."""
    for name, value in options.items():
        if name not in OPTIONS:
            short = name[:_LONGEST]
            raise SidecarError(f"unknown option {short!r}{nearest(short, OPTIONS)}", code="unknown_option")
        if type(value) is str and len(value) > _LONGEST:
            raise OptionError(f"{name}: a text of {len(value)} characters is no value of this option")
        # Only names: the day a counter may be a file, a client must not choose which file the sidecar opens.
        if name == "counter" and value not in COUNTERS:
            raise OptionError(f"counter: one of {', '.join(map(repr, COUNTERS))} over the wire")
        if name == "summarizer" and value is not None and value not in SUMMARIZERS:
            raise OptionError(f"summarizer: one of {', '.join(map(repr, SUMMARIZERS))} over the wire")


class Session:
    """One open session: its memory, the settings that were asked for, and who listens to it."""

    __slots__ = ("_covered", "_evicted", "listeners", "memory", "names", "options")

    def __init__(self, user: str, session: str, memory: Any, options: dict[str, Any]) -> None:
        self.names = {"user": user, "session": session}
        self.memory = memory
        self.options = options
        self.listeners: set[Listener] = set()
        self._evicted = 0  # what the listeners know: how many messages have left,
        self._covered = 0  # and how many seqs the summary covers

    # ------------------------------------------------------------------------------------------ listeners
    def listen(self, peer: Listener, notify: bool) -> None:
        """Tells the peer from now on what happens in this session, or no longer."""
        if notify:
            if not self.listeners:
                self.look()  # what happened before is no news
            self.listeners.add(peer)
            peer.watching.add(self)
        else:
            self.listeners.discard(peer)
            peer.watching.discard(self)

    def look(self) -> list[tuple[str, dict[str, Any]]]:
        """The notifications about what happened since the last look; those about evictions first."""
        news: list[tuple[str, dict[str, Any]]] = []
        memory = self.memory
        evicted = memory.evicted_count
        if evicted > self._evicted:
            start = memory._totals()["start_seq"]
            last = start - 1 if start else memory.last_seq
            news.append(("evicted", {**self.names, "count": evicted - self._evicted, "last_seq": last}))
        self._evicted = evicted
        covered = getattr(memory, "covered", None)
        if covered is not None:  # else the summary waits until its architecture is configured again
            size = sum(last - first + 1 for first, last in covered)
            if size > self._covered:
                tokens = memory.stats()["summary_tokens"]
                ranges = [list(pair) for pair in covered]
                news.append(("summarized", {**self.names, "covered": ranges, "tokens": tokens}))
            self._covered = size
        return news

    def check_same(self, architecture: str | None, options: dict[str, Any]) -> None:
        """Raises SidecarError(bad_params) when a reopen asks for other settings than the session has.

        Settings never change behind the back of a client that has the session open too: that is configure's job.
        """
        wrong = ""
        if architecture is not None and architecture != self.memory.architecture:
            wrong = f"has the architecture {self.memory.architecture!r}, not {architecture!r}"
        for name, value in options.items():
            if not wrong and (name not in self.options or self.options[name] != value):
                wrong = f"was not opened with {name}={str(value)[:_LONGEST]}"
        if wrong:
            raise SidecarError(f"the session is open already and {wrong}: change it with configure", code="bad_params")


class Sessions:
    """All open sessions of the process.

    `pack` and `unpack` turn a message into bytes and back; `limits` has sessions, session_bytes and message_bytes.
    """

    def __init__(
        self,
        limits: dict[str, int],
        pack: Callable[[Any], bytes],
        unpack: Callable[[bytes], Any],
    ) -> None:
        self._open: dict[tuple[str, str, str], Session] = {}
        self._limit = limits["sessions"]
        self._bytes = limits["session_bytes"]
        longest = limits["message_bytes"]

        def bounded(message: Any) -> bytes:
            data = pack(message)
            if len(data) > longest:
                raise SidecarError(
                    f"the message takes {len(data)} bytes; the limit is {longest} (limits.message_bytes)",
                    code="message_too_large",
                )
            return data

        self._codec = (bounded, unpack)

    def __len__(self) -> int:
        return len(self._open)

    def get(self, namespace: str, user: str, session: str) -> Session:
        """The open session, or SidecarError(no_session)."""
        found = self._open.get((namespace, user, session))
        if found is None:
            raise SidecarError("the session is not open: call open first", code="no_session")
        return found

    def open(
        self, namespace: str, user: str, session: str, architecture: str | None, options: dict[str, Any]
    ) -> tuple[Session, bool]:
        """The session, and whether it was made just now. An open one is kept as it is."""
        check_options(options)
        key = (namespace, user, session)
        found = self._open.get(key)
        if found is not None:
            found.check_same(architecture, options)
            return found, False
        if architecture is None:
            raise SidecarError("open: architecture is missing, and there is no such session yet", code="bad_params")
        if len(self._open) >= self._limit:
            raise SidecarError(f"{self._limit} sessions are open (limits.sessions): close one", code="session_limit")
        memory = create_memory(architecture, limit_bytes=self._bytes, codec=self._codec, **options)
        made = self._open[key] = Session(user, session, memory, dict(options))
        return made, True

    def configure(self, found: Session, architecture: str | None, options: dict[str, Any]) -> None:
        """Changes the settings of an open session; unchanged on error."""
        check_options(options)
        found.memory.configure(architecture, **options)
        found.options.update(options)

    def close(self, namespace: str, user: str, session: str) -> None:
        """Lets the session and all it holds go."""
        found = self.get(namespace, user, session)
        for peer in list(found.listeners):
            found.listen(peer, False)
        found.memory.close()
        del self._open[namespace, user, session]

    def forget(self, peer: Listener) -> None:
        """The peer is gone: nobody is to be told through it."""
        for session in list(peer.watching):
            session.listen(peer, False)

    def close_all(self) -> None:
        while self._open:
            self._open.popitem()[1].memory.close()
