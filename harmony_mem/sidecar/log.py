"""One JSON line per event on stderr. Written by hand: json and logging cost a board more than a megabyte each.

A line never holds what a message, a user or a session is called or says. A reader of the log that stops reading must
not stop the sidecar: a line for which there is no room is dropped and counted.
"""

from __future__ import annotations

import os
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Log", "to_json"]

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
# A pipe that polls as writable takes this much in one piece, without waiting (POSIX: PIPE_BUF on Linux).
_LINE_BYTES = 4096


def _text(value: str) -> str:
    made = []
    for char in value:
        if char in _ESCAPES:
            made.append(_ESCAPES[char])
        elif char < " " or "\x7f" <= char <= "\x9f" or "\ud800" <= char <= "\udfff" or char in "\u2028\u2029":
            made.append(f"\\u{ord(char):04x}")
        else:
            made.append(char)
    return '"' + "".join(made) + '"'


def to_json(value: Any) -> str:
    """The JSON of None, bool, int, finite float, str, list, tuple and dict; the text of anything else."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(str(name))}: {to_json(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(to_json(item) for item in value) + "]"
    return _text(str(value))


class Log:
    """Writes events to a file descriptor."""

    __slots__ = ("dropped", "fd")

    def __init__(self, fd: int = 2) -> None:
        self.fd = fd
        self.dropped = 0

    def __call__(self, event: str, **fields: Any) -> None:
        """One line `{"time": seconds since the epoch, "event": event, ...}`. Never raises, never waits."""
        line = to_json({"time": round(time.time(), 3), "event": event, **fields}).encode() + b"\n"
        if len(line) > _LINE_BYTES:
            line = to_json({"time": round(time.time(), 3), "event": event, "cut": len(line)}).encode() + b"\n"
        try:
            if select.select((), (self.fd,), (), 0)[1]:
                os.write(self.fd, line)
                return
        except (OSError, ValueError):
            pass  # no stderr, or its reader is gone: the sidecar goes on
        self.dropped += 1
