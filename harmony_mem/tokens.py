"""Token counters and what a message costs.

A counter is a TokenCounter: a name, a fingerprint, and a count for a text. Two need no vocabulary and count in C:
"estimate" and "chars/2"; any callable str -> int works too. The cost of a message is its texts plus the overhead that a
chat template adds around them.
"""

from __future__ import annotations

from . import _core
from .errors import CounterError, OptionError, brief, nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["DEFAULT_PART_TOKENS", "OVERHEADS", "Overhead", "TokenCounter", "cost", "resolve"]

DEFAULT_PART_TOKENS = 1024
"""Flat cost of a part that is no text (image, audio, file), whatever its payload weighs. About what current vision
models charge for an image of a megapixel."""

_NATIVE = ("estimate", "chars/2")
_unnamed = 0


class TokenCounter:
    """Counts the tokens of a text.

    name: how options and stats call it. exact: whether its counts are those of a real vocabulary.
    fingerprint: 32 bits; equal fingerprints mean equal counts, so that cached counts can be trusted.
    native: the name under which the C core has it, or None for a callable.
    """

    __slots__ = ("call", "exact", "fingerprint", "name", "native")

    def __init__(
        self, name: str, call: Callable[[str], int], *, native: str | None = None, exact: bool = False
    ) -> None:
        self.name = name
        self.call = call
        self.native = native
        self.exact = exact
        self.fingerprint = _fnv1a(name)

    @classmethod
    def named(cls, name: str) -> TokenCounter:
        """A counter that needs no vocabulary: "estimate" or "chars/2". Raises OptionError for any other name."""
        if name == "estimate":
            return cls(name, _core.estimate, native=name)
        if name == "chars/2":
            return cls(name, _half, native=name)
        raise OptionError(
            f"counter {brief(name)} is not known{nearest(name, list(_NATIVE))}; "
            f"allowed: {', '.join(map(repr, _NATIVE))}, or a callable from str to int"
        )

    def count(self, text: str) -> int:
        """Tokens of one text. Raises CounterError when a callable fails or returns no count."""
        if not isinstance(text, str):
            raise CounterError(f"count() takes a str, not {type(text).__name__}")
        return self.call(text) if self.native else _core.checked(self.call, text)

    def count_many(self, texts: Iterable[str]) -> list[int]:
        """Tokens of each text, in order."""
        return [self.count(text) for text in texts]

    def __repr__(self) -> str:
        return f"<TokenCounter {self.name}{', exact' if self.exact else ''}>"


def _half(text: str) -> int:
    """ceil((len + 8) / 2), the reference article's estimate."""
    return (len(text) + 9) // 2


def _fnv1a(name: str) -> int:
    """32-bit FNV-1a: stable between processes, unlike hash()."""
    value = 0x811C9DC5
    for byte in name.encode("utf-8", "surrogatepass"):
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def resolve(counter: object) -> TokenCounter:
    """The counter that an option means: a TokenCounter, a name, or a callable.

    Two callables never share a fingerprint, even under one name: nobody can tell whether they count alike.
    """
    global _unnamed
    if isinstance(counter, TokenCounter):
        return counter
    if isinstance(counter, str):
        return TokenCounter.named(counter)
    if callable(counter):
        _unnamed += 1
        name = getattr(counter, "__qualname__", None) or type(counter).__name__
        return TokenCounter(f"callable {name} #{_unnamed}", counter)
    raise OptionError(
        f"counter must be {', '.join(map(repr, _NATIVE))}, a TokenCounter or a callable from str to int, "
        f"not {type(counter).__name__}"
    )


class Overhead:
    """Tokens that a chat template adds: for each message, for each tool call, and once for each prompt."""

    __slots__ = ("call", "message", "name", "prompt")

    def __init__(self, name: str, message: int, call: int, prompt: int) -> None:
        self.name = name
        self.message = message
        self.call = call
        self.prompt = prompt


# Without a vocabulary nobody knows the template's tokens: 5 a message, 5 a call and 3 a prompt cover chatml and
# OpenAI's.
OVERHEADS = {
    "chatml": Overhead("chatml", 5, 5, 3),
    "openai": Overhead("openai", 5, 5, 3),
    "none": Overhead("none", 0, 0, 0),
}


def cost(
    count: Callable[[str], int],
    overhead: Overhead,
    part_tokens: int,
    texts: list[str],
    calls: list[list[str]],
    parts: int,
) -> int:
    """What a message costs: its texts (name included), the texts of its calls, its other parts, and the overhead."""
    total = overhead.message + part_tokens * parts
    for text in texts:
        total += count(text)
    for call in calls:
        total += overhead.call
        for text in call:
            total += count(text)
    return total
