"""Conversations for the simulation: what one is, and reading it from JSON lines.

Two forms are read, plain or gzipped; docs/simulation.md describes both. One conversation over the lines of a file:

    {"message": {"role": "user", "content": "..."}, "time": 1760923921000}
    {"fact": {"key": "phone", "value": "139-0000-4127", "turn": 3}}

and one conversation per line: {"id": ..., "turns": [...], "questions": [...]} or {"id": ..., "messages": [...]}.

A reader is strict where a mistake would falsify a measurement (a fact that its turn does not say, a role that does not
exist) and names the line. It does not judge what a memory has to bear: calls without results and results without calls
pass.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib

from harmony_mem.errors import HarmonyMemError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, TypeAlias

    Message: TypeAlias = dict[str, Any]

__all__ = ["Conversation", "ConversationError", "Fact", "read", "read_lines", "shipped", "text_of", "write"]

ROLES = ("system", "user", "assistant", "tool")

# A question of the per-line form becomes a fact when its evidence lies in these first turns.
EARLY_TURNS = 15

# An answer shorter than this many UTF-8 bytes ("35", "no", one Chinese character) occurs by chance: it marks nothing.
SHORTEST_ANSWER = 4

SHIPPED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "customer_zh.jsonl")


class ConversationError(HarmonyMemError, ValueError):
    """A file that holds no conversation, or a line that is wrong. `source` and `line` (from 1, or None) say where."""

    def __init__(self, text: str, *, source: str, line: int | None = None) -> None:
        super().__init__(f"{source}, line {line}: {text}" if line else f"{source}: {text}")
        self.source = source
        self.line = line


class Fact:
    """A value that the prompt should still hold at the end: `value` is said word for word in turn `turn` (from 1)."""

    __slots__ = ("key", "turn", "value")

    def __init__(self, key: str, value: str, turn: int) -> None:
        self.key = key
        self.value = value
        self.turn = turn

    def __repr__(self) -> str:
        return f"Fact({self.key!r}, {self.value!r}, turn={self.turn})"


class Conversation:
    """Messages in order, the time of each (ms since epoch, or None), and the marked facts."""

    __slots__ = ("facts", "id", "messages", "times")

    def __init__(
        self,
        id: str,
        messages: list[Message],
        times: list[int | None] | None = None,
        facts: list[Fact] | None = None,
    ) -> None:
        self.id = id
        self.messages = messages
        self.times: list[int | None] = [None] * len(messages) if times is None else times
        self.facts = facts if facts is not None else []
        if len(self.times) != len(messages):
            raise ValueError(f"{len(messages)} messages, but {len(self.times)} times")

    def __repr__(self) -> str:
        return f"<Conversation {self.id!r}: {len(self.messages)} messages, {self.turns} turns, {len(self.facts)} facts>"

    @property
    def turns(self) -> int:
        """A turn is a user message and everything up to the next one."""
        return sum(message["role"] == "user" for message in self.messages)

    def turn_numbers(self) -> list[int]:
        """The turn of each message, from 1; 0 for what precedes the first user message."""
        numbers, turn = [], 0
        for message in self.messages:
            turn += message["role"] == "user"
            numbers.append(turn)
        return numbers


def text_of(message: Message) -> str:
    """What a model reads of a message: its text, text parts, and the names and arguments of its calls."""
    content = message.get("content")
    pieces = [content] if isinstance(content, str) else []
    if isinstance(content, list):
        pieces += [part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)]
    for call in message.get("tool_calls") or ():
        pieces += [call["function"]["name"], call["function"]["arguments"]]
    return "\n".join(pieces)


def shipped() -> Conversation:
    """The conversation of the demo: 120 turns in Chinese, 16 early facts marked."""
    return read(SHIPPED)[0]


def read(path: str | os.PathLike[str]) -> list[Conversation]:
    """The conversations of a file (gzip is recognised by its first bytes). Raises ConversationError, OSError."""
    source = os.fspath(path)
    with open(source, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    try:
        with gzip.open(source, "rb") if packed else open(source, "rb") as lines:
            return read_lines(lines, source=source)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ConversationError(f"damaged gzip data: {error}", source=source) from None


def read_lines(lines: Iterable[bytes | str], *, source: str = "conversation") -> list[Conversation]:
    """The conversations of these lines. The first line that is not empty decides which form it is."""
    reader: _Spread | _PerLine | None = None
    for number, line in enumerate(lines, 1):
        where = _Where(source, number)
        record = _parse(line, where)
        if record is None:
            continue
        if reader is None:
            reader = _PerLine() if "turns" in record or "messages" in record else _Spread(source)
        reader.take(record, where)
    conversations = reader.finish() if reader else []
    if not conversations:
        raise ConversationError("holds no conversation", source=source)
    return conversations


def write(conversation: Conversation, path: str | os.PathLike[str]) -> None:
    """Writes the form with one message per line; each fact follows its turn."""
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for line in to_lines(conversation):
            file.write(line + "\n")


def to_lines(conversation: Conversation) -> Iterator[str]:
    """The lines that write() writes, without line ends."""
    turns = [*conversation.turn_numbers(), conversation.turns + 1]
    for index, message in enumerate(conversation.messages):
        record: Message = {"message": message}
        if conversation.times[index] is not None:
            record["time"] = conversation.times[index]
        yield json.dumps(record, ensure_ascii=False)
        if turns[index + 1] > turns[index]:
            for fact in conversation.facts:
                if fact.turn == turns[index]:
                    yield json.dumps(
                        {"fact": {"key": fact.key, "value": fact.value, "turn": fact.turn}}, ensure_ascii=False
                    )


class _Where:
    """A place in a file; makes the error that names it."""

    __slots__ = ("line", "source")

    def __init__(self, source: str, line: int) -> None:
        self.source = source
        self.line = line

    def error(self, text: str) -> ConversationError:
        return ConversationError(text, source=self.source, line=self.line)


def _parse(line: bytes | str, where: _Where) -> Message | None:
    """The JSON object of one line; None for an empty line."""
    try:
        text = line.decode("utf-8") if isinstance(line, bytes) else line
    except UnicodeDecodeError as error:
        raise where.error(f"not UTF-8 at byte {error.start + 1}") from None
    text = text.removeprefix("\ufeff").strip() if where.line == 1 else text.strip()
    if not text:
        return None
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        raise where.error(f"not JSON at column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise where.error("nested too deeply") from None
    if not isinstance(record, dict):
        raise where.error(f"expected a JSON object, found {_kind(record)}")
    try:
        json.dumps(record, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise where.error("holds a lone surrogate (half of an emoji?), which is no text") from None
    return record


class _Spread:
    """Reads the form with one message or fact per line."""

    def __init__(self, source: str) -> None:
        name = os.path.basename(source)
        self.conversation = Conversation(name.removesuffix(".gz").removesuffix(".jsonl") or source, [])
        self.facts_at: list[_Where] = []

    def take(self, record: Message, where: _Where) -> None:
        kinds = [key for key in ("message", "fact") if key in record]
        if len(kinds) != 1:
            known = ", ".join(sorted(record)) or "nothing"
            raise where.error(f'expected one of "message" and "fact", found {known}')
        if kinds == ["message"]:
            self.conversation.messages.append(_message(record["message"], where))
            self.conversation.times.append(_time(record.get("time"), where))
        else:
            self.conversation.facts.append(_fact(record["fact"], where))
            self.facts_at.append(where)

    def finish(self) -> list[Conversation]:
        """Facts may stand anywhere in the file, so they are checked against their turns here."""
        said = _said(self.conversation)
        for fact, where in zip(self.conversation.facts, self.facts_at, strict=True):
            if fact.turn > self.conversation.turns:
                raise where.error(f"the fact names turn {fact.turn}, the conversation has {self.conversation.turns}")
            if fact.value not in said[fact.turn]:
                raise where.error(f"turn {fact.turn} does not say {fact.value!r}, the value of the fact {fact.key!r}")
        return [self.conversation] if self.conversation.messages else []


class _PerLine:
    """Reads the form with one conversation per line."""

    def __init__(self) -> None:
        self.conversations: list[Conversation] = []

    def take(self, record: Message, where: _Where) -> None:
        key = "turns" if "turns" in record else "messages"
        items = record.get(key)
        if not isinstance(items, list) or not items:
            raise where.error('expected "turns" or "messages", a list that is not empty')
        messages, times = [], []
        for number, item in enumerate(items, 1):
            try:
                message = dict(_message(item, where))
                # The time stands inside the message here; it is not part of what the model is given.
                times.append(_time(message.pop("timestamp", None), where))
            except ConversationError as error:
                inner = str(error).split(": ", 1)[1]
                raise where.error(f"{key}[{number - 1}]: {inner}") from None
            messages.append(message)
        conversation = Conversation(str(record.get("id", f"line {where.line}")), messages, times)
        conversation.facts = _facts_of(record.get("questions") or [], conversation, where)
        self.conversations.append(conversation)

    def finish(self) -> list[Conversation]:
        return self.conversations


def _said(conversation: Conversation) -> list[str]:
    """The text of each turn, by turn number."""
    said = [""] * (conversation.turns + 1)
    for message, turn in zip(conversation.messages, conversation.turn_numbers(), strict=True):
        said[turn] += text_of(message) + "\n"
    return said


def _facts_of(questions: Any, conversation: Conversation, where: _Where) -> list[Fact]:
    """Questions whose answer is said, word for word, in an early piece of their evidence (message numbers from 0)."""
    if not isinstance(questions, list):
        raise where.error(f'"questions" must be a list, found {_kind(questions)}')
    turns = conversation.turn_numbers()
    facts: dict[str, Fact] = {}
    for number, question in enumerate(questions):
        if not isinstance(question, dict):
            raise where.error(f"questions[{number}] must be an object, found {_kind(question)}")
        answers, evidence = question.get("answers") or [], question.get("evidence") or []
        if not isinstance(answers, list) or not isinstance(evidence, list):
            raise where.error(f'questions[{number}]: "answers" and "evidence" must be lists')
        for index in evidence:
            if not isinstance(index, int) or not 0 <= index < len(turns):
                raise where.error(f"questions[{number}]: there is no message {index!r}")
        # Evidence of which any one part is late would be a later repetition: such a question says nothing about memory.
        if not evidence or not all(1 <= turns[index] <= EARLY_TURNS for index in evidence):
            continue
        for answer in answers:
            found = [i for i in evidence if isinstance(answer, str) and answer in text_of(conversation.messages[i])]
            if found and len(answer.encode("utf-8")) >= SHORTEST_ANSWER:
                facts.setdefault(answer, Fact(str(question.get("q", number)), answer, turns[found[0]]))
                break
    return list(facts.values())


def _message(value: Any, where: _Where) -> Message:
    if not isinstance(value, dict):
        raise where.error(f"a message must be an object, found {_kind(value)}")
    role = value.get("role")
    if role not in ROLES:
        raise where.error(f"role must be one of {', '.join(ROLES)}, found {role!r}")
    content = value.get("content")
    if content is not None and not isinstance(content, str | list):
        raise where.error(f"content must be text, a list of parts or null, found {_kind(content)}")
    if isinstance(content, list) and not all(isinstance(part, dict) for part in content):
        raise where.error("every part of content must be an object")
    if role == "tool" and not isinstance(value.get("tool_call_id"), str):
        raise where.error('a tool message needs "tool_call_id"')
    calls = value.get("tool_calls")
    if calls is not None:
        if not isinstance(calls, list):
            raise where.error(f"tool_calls must be a list, found {_kind(calls)}")
        for call in calls:
            function = call.get("function") if isinstance(call, dict) else None
            if (
                not isinstance(function, dict)
                or not isinstance(call.get("id"), str)
                or not isinstance(function.get("name"), str)
                or not isinstance(function.get("arguments"), str)
            ):
                raise where.error('each of tool_calls needs "id" and "function": {"name", "arguments"}, all text')
    return value


def _time(value: Any, where: _Where) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise where.error(f"time must be whole milliseconds since 1970, found {value!r}")
    return value


def _fact(value: Any, where: _Where) -> Fact:
    if not isinstance(value, dict):
        raise where.error(f"a fact must be an object, found {_kind(value)}")
    key, text, turn = value.get("key"), value.get("value"), value.get("turn")
    if not isinstance(key, str) or not key or not isinstance(text, str) or not text:
        raise where.error('a fact needs "key" and "value", both text that is not empty')
    if not isinstance(turn, int) or isinstance(turn, bool) or turn < 1:
        raise where.error(f'"turn" of a fact must be a whole number from 1, found {turn!r}')
    return Fact(key, text, turn)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
