"""Every error that harmony_mem raises on purpose.

    HarmonyMemError
    ├── OptionError          an option of create_memory, configure or a call: unknown, wrong type, out of range
    ├── MessageError         what was given to add() is no OpenAI-format chat message
    │   └── OversizeError    oversize="refuse": the message does not fit the budget beside what must stay
    ├── IdConflictError      an id was added before with another content
    ├── BudgetError          what must stay exceeds the budget: the prompt cannot be made
    ├── CounterError         the token counter raised, or returned something that is no count
    ├── HistoryError         a seq that does not exist, or is no longer kept in memory
    ├── SummaryError         a summariser's answer is no text and no Summary
    ├── LimitError           a limit in bytes, messages or connections was reached
    ├── ClosedError          the memory or the connection was closed before
    └── SidecarError         the sidecar answered with an error; `code` says which
        └── ProtocolError    bytes on the socket that are no frame of this protocol

Each is also the built-in exception that fits best (ValueError where the argument was wrong), and each carries what a
program needs as attributes, so that nobody has to parse a text.
"""

from __future__ import annotations

__all__ = [
    "BudgetError",
    "ClosedError",
    "CounterError",
    "HarmonyMemError",
    "HistoryError",
    "IdConflictError",
    "LimitError",
    "MessageError",
    "OptionError",
    "OversizeError",
    "ProtocolError",
    "SidecarError",
    "SummaryError",
    "brief",
    "nearest",
]


class HarmonyMemError(Exception):
    """Base of all errors raised by harmony_mem."""


class OptionError(HarmonyMemError, ValueError):
    """An option is unknown, of the wrong type, or out of range. Nothing was changed."""


class MessageError(HarmonyMemError, ValueError):
    """The argument of add() is no OpenAI-format chat message. Nothing was stored."""


class OversizeError(MessageError):
    """oversize="refuse": the message does not fit beside head, pinned groups and anchor. Nothing was stored."""

    def __init__(self, text: str, *, budget: int, needed: int) -> None:
        super().__init__(text)
        self.budget = budget
        self.needed = needed


class IdConflictError(HarmonyMemError, ValueError):
    """The same id came with another content. Nothing was stored; `seq` is the message that has the id."""

    def __init__(self, text: str, *, seq: int) -> None:
        super().__init__(text)
        self.seq = seq


class BudgetError(HarmonyMemError, ValueError):
    """What must stay in the prompt exceeds the budget.

    `budget` and `needed` are tokens; `parts` says where they go (overhead, head, pinned, anchor, newest); `seq` is the
    dearest message among those that can't be left out, 0 when the fixed overhead alone is too large. The messages are
    stored all the same: raise the budget with configure(), or rewind().
    """

    def __init__(self, text: str, *, budget: int, needed: int, parts: dict[str, int], seq: int) -> None:
        super().__init__(text)
        self.budget = budget
        self.needed = needed
        self.parts = parts
        self.seq = seq


class CounterError(HarmonyMemError, ValueError):
    """The token counter raised (see __cause__) or returned something that is no count. Nothing was stored."""


class HistoryError(HarmonyMemError, ValueError):
    """A seq that never was, or whose message is no longer kept in memory. Nothing was changed."""


class SummaryError(HarmonyMemError, ValueError):
    """A summariser returned something that is no text, no Summary and not None. The summary stays as it was."""


class LimitError(HarmonyMemError):
    """A limit was reached; the text names it, its value, and the option that moves it. Nothing was changed."""


class ClosedError(HarmonyMemError):
    """The memory or the connection was closed before this call."""


class SidecarError(HarmonyMemError):
    """The sidecar answered with an error. `code` is stable and listed in harmony_mem.sidecar.codec.CODES."""

    def __init__(self, text: str, *, code: str) -> None:
        super().__init__(text)
        self.code = code


class ProtocolError(SidecarError):
    """Bytes on the socket that are no frame of this protocol, or a frame beyond a limit."""

    def __init__(self, text: str, *, code: str = "bad_frame") -> None:
        super().__init__(text, code=code)


def brief(value: object, limit: int = 80) -> str:
    """repr(value), shortened: an error text must not quote a megabyte back."""
    if isinstance(value, (str, bytes)) and len(value) > limit:
        return f"{value[:limit]!r}... ({len(value)} long)"
    text = repr(value) if isinstance(value, (str, bytes, int, float, bool, type(None))) else f"a {type(value).__name__}"
    return text if len(text) <= 2 * limit else f"{text[: 2 * limit]}..."


def nearest(word: str, allowed: list[str]) -> str:
    """`"; did you mean 'overlap_tokens'?"` for a misspelt word, or an empty text when nothing is near.

    Near means a Levenshtein distance of at most a third of the word, or that the word is the begin of one. Written
    out here because difflib would cost a board 1.5 MB of resident memory.
    """
    if len(word) > 64:
        return ""
    best, best_distance = "", len(word) // 3 + 1
    for candidate in allowed:
        row = list(range(len(candidate) + 1))
        for i, a in enumerate(word, 1):
            previous, row[0] = row[0], i
            for j, b in enumerate(candidate, 1):
                previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (a != b))
        distance = 1 if len(word) > 2 and candidate.startswith(word) else row[-1]
        if distance < best_distance:
            best, best_distance = candidate, distance
    return f"; did you mean {best!r}?" if best else ""
