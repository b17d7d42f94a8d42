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
    from typing import Any

__all__ = ["OPTIONS", "Session", "Sessions"]

# The options that a client may give. Not here: what only a Python caller can give (a callable as the counter, clock)
# and what the sidecar decides (limit_bytes, codec).
OPTIONS = [
    "counter",
    "fixed_tokens",
    "history_bytes",
    "max_messages",
    "max_tokens",
    "max_turns",
    "overhead",
    "overlap_tokens",
    "oversize",
    "part_tokens",
    "pin_system",
    "preset",
    "reserve_tokens",
]
COUNTERS = ["chars/2", "estimate"]
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


class Session:
    """One open session: its memory, and the settings that were asked for."""

    __slots__ = ("memory", "options")

    def __init__(self, memory: Any, options: dict[str, Any]) -> None:
        self.memory = memory
        self.options = options

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
        made = self._open[key] = Session(memory, dict(options))
        return made, True

    def configure(self, found: Session, architecture: str | None, options: dict[str, Any]) -> None:
        """Changes the settings of an open session; unchanged on error."""
        check_options(options)
        found.memory.configure(architecture, **options)
        found.options.update(options)

    def close(self, namespace: str, user: str, session: str) -> None:
        """Lets the session and all it holds go."""
        self.get(namespace, user, session).memory.close()
        del self._open[namespace, user, session]

    def close_all(self) -> None:
        while self._open:
            self._open.popitem()[1].memory.close()
