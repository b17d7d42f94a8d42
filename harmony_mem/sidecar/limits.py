"""The limits of a sidecar: name, default, and what each stops. `serve` has a flag for each, `hello` reports them."""

from __future__ import annotations

from harmony_mem.errors import OptionError, nearest

__all__ = ["DEFAULTS", "LIMITS", "settle"]

# name: (default, least, what it stops)
LIMITS: dict[str, tuple[int, int, str]] = {
    "frame_bytes": (16 << 20, 4096, "a frame, in either direction, that would fill the memory of a board"),
    "depth": (32, 8, "lists and maps nested so deep that reading them costs more than they carry"),
    "values": (1 << 18, 256, "a small frame that unfolds into millions of objects"),
    "message_bytes": (1 << 20, 256, "one message, as MessagePack"),
    "name_chars": (256, 1, "the length of user, session and id, in characters"),
    "sessions": (1024, 1, "open sessions, of all users together"),
    "session_bytes": (16 << 20, 1 << 16, "the memory of one session"),
    "connections": (64, 1, "connected clients"),
    "in_flight": (1024, 1, "answers that a client has not taken yet; further requests are refused"),
    "outgoing_bytes": (1 << 20, 4096, "unsent answers of one client; above it the sidecar reads nothing more from it"),
    "notifications": (256, 1, "notifications that a client has not taken yet; further ones are dropped and counted"),
    "stall_seconds": (30, 1, "a client that stops in the middle of a frame, or takes no answer"),
    "idle_seconds": (3600, 1, "a connection on which nothing is sent"),
}

DEFAULTS: dict[str, int] = {name: default for name, (default, _, _) in LIMITS.items()}


def settle(given: dict[str, int]) -> dict[str, int]:
    """All limits: the defaults, and over them what was given. Raises OptionError for an unknown name, a small value."""
    for name, value in given.items():
        if name not in LIMITS:
            raise OptionError(f"unknown limit {name!r}{nearest(name, list(LIMITS))}")
        if value < LIMITS[name][1]:
            raise OptionError(f"the limit {name} is {value}; allowed: {LIMITS[name][1]} or more")
    return {**DEFAULTS, **given}
