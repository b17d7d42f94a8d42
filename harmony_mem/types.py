"""What a memory hands out, and the types of what it takes. A leaf: it imports nothing of the package."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Message = dict[str, Any]
    """One OpenAI-format chat message: role, content (text, parts or None), tool_calls, tool_call_id, name, and any
    other keys, which are kept and handed back."""
    Codec = tuple[Callable[[Message], bytes], Callable[[bytes], Message]]
    """(pack, unpack): how a memory keeps messages as bytes instead of as dicts."""

__all__ = ["Item", "Part", "Prompt", "Source", "Summary"]


class Part:
    """One line of a prompt's account: what kind of content, how many messages, at what cost.

    kind, in prompt order:
      overhead  what every prompt costs: the template's own tokens and `fixed_tokens`
      head      leading system messages
      pinned    pinned groups older than the window, with the user messages of their turns
      anchor    the user message of a long turn, where the window has moved past it inside that turn
      window    the newest groups, word for word
    and, with included=False, what is not in the prompt:
      evicted   messages that left the window
      shortened texts that were cut in this view; `tokens` is what was cut off
      repaired  calls without all their results, shown without what is missing
      unmatched results that no call waited for

    tokens: of the included parts they add up to Prompt.token_count.
    first_seq, last_seq: the messages meant, 0 when there are none or when they are no single run.
    """

    __slots__ = ("first_seq", "included", "kind", "last_seq", "messages", "tokens")

    def __init__(
        self, kind: str, messages: int, tokens: int, first_seq: int = 0, last_seq: int = 0, included: bool = True
    ) -> None:
        self.kind = kind
        self.messages = messages
        self.tokens = tokens
        self.first_seq = first_seq
        self.last_seq = last_seq
        self.included = included

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as they go over the wire."""
        return {
            name: getattr(self, name) for name in ("kind", "messages", "tokens", "first_seq", "last_seq", "included")
        }

    def __eq__(self, other: object) -> bool:
        return self.as_dict() == other.as_dict() if isinstance(other, Part) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        span = f" seq {self.first_seq}-{self.last_seq}" if self.first_seq else ""
        where = "" if self.included else ", not in the prompt"
        return f"<Part {self.kind}: {self.messages} messages, {self.tokens} tokens{span}{where}>"


class Prompt:
    """What the model is to see on one call.

    messages: OpenAI-format dicts, ready to send; copies, one level deep.
    token_count: their cost with the template's overhead and the fixed tokens, by the counter in use.
    exact: whether that counter is exact for the model's vocabulary and template.
    parts: where the tokens go, and what was left out.
    """

    __slots__ = ("exact", "messages", "parts", "token_count")

    def __init__(self, messages: list[Message], token_count: int, exact: bool, parts: list[Part]) -> None:
        self.messages = messages
        self.token_count = token_count
        self.exact = exact
        self.parts = parts

    def __repr__(self) -> str:
        return (
            f"<Prompt: {len(self.messages)} messages, {self.token_count} tokens{'' if self.exact else ' (estimated)'}>"
        )


class Source:
    """One message as a summariser or an index gets it: its seq, its time (ms since epoch, UTC), and the message itself,
    a copy that may be changed at will."""

    __slots__ = ("message", "seq", "time")

    def __init__(self, seq: int, time: int, message: Message) -> None:
        self.seq = seq
        self.time = time
        self.message = message


class Item:
    """One statement of a summary and the messages that it rests on."""

    __slots__ = ("source_seqs", "text")

    def __init__(self, text: str, source_seqs: Iterable[int]) -> None:
        self.text = text
        self.source_seqs = tuple(source_seqs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Item):
            return NotImplemented
        return self.text == other.text and self.source_seqs == other.source_seqs

    def __hash__(self) -> int:
        return hash((self.text, self.source_seqs))

    def __repr__(self) -> str:
        return f"<Item {self.text!r} of {list(self.source_seqs)}>"


class Summary:
    """What a stretch of conversation comes down to: items in order of their sources, and keywords to find it by."""

    __slots__ = ("items", "keywords")

    def __init__(self, items: Iterable[Item], keywords: Iterable[str] = ()) -> None:
        self.items = list(items)
        self.keywords = list(keywords)

    @property
    def text(self) -> str:
        """One line an item."""
        return "\n".join(item.text for item in self.items)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Summary):
            return NotImplemented
        return self.items == other.items and self.keywords == other.keywords

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Summary: {len(self.items)} items>"
