"""Reading one OpenAI-format chat message: what is wrong with it, what of it costs tokens, which calls it makes."""

from __future__ import annotations

from .. import _core
from ..errors import MessageError, brief, nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..types import Message

__all__ = ["Checked", "check", "repair"]

MAX_DEPTH = 32
"""Levels of lists and dicts in one message. Enough for any tool schema; a cycle ends here instead of in a crash."""


class Checked:
    """A valid message and what the window needs to know of it.

    message: a copy, one level deep (all the way down where a lone surrogate had to be replaced by U+FFFD).
    texts: what is counted as text: content, text parts, name. calls: for each tool call its name and arguments.
    parts: how many parts are no text. call_ids: ids of its calls, in order. answers: the call that it is a result of.
    weight: bytes that its strings take, about.
    """

    __slots__ = ("answers", "call_ids", "calls", "message", "parts", "role", "texts", "weight")

    def __init__(self, message: Message, role: int, weight: int) -> None:
        self.message = message
        self.role = role
        self.texts: list[str] = []
        self.calls: list[list[str]] = []
        self.parts = 0
        self.call_ids: list[str] = []
        self.answers: str | None = None
        self.weight = weight


def check(message: object) -> Checked:
    """Reads a message. Raises MessageError, which says what was wrong, where, and what is allowed."""
    if not isinstance(message, dict):
        hint = "; pass message.model_dump(exclude_none=True)" if hasattr(message, "model_dump") else ""
        raise MessageError(f"a message is a dict with role and content, not {type(message).__name__}{hint}")
    walk = _Walk()
    walk.visit(message, 0, "message")
    copy: Message = _scrubbed(message) if walk.broken else dict(message)
    role = copy.get("role")
    if role not in _core.ROLES:
        near = nearest(role, list(_core.ROLES)) if isinstance(role, str) else ""
        raise MessageError(f"role is {brief(role)}{near}; allowed: {', '.join(_core.ROLES)}")
    checked = Checked(copy, _core.ROLES.index(role), walk.bytes)
    _read_content(checked, copy)
    _read_calls(checked, copy)
    name = copy.get("name")
    if name is not None:
        if not isinstance(name, str):
            raise MessageError(f"name is {type(name).__name__}; allowed: a str")
        checked.texts.append(name)
    return checked


def _read_content(checked: Checked, message: Message) -> None:
    role, content = message["role"], message.get("content")
    if isinstance(content, str):
        checked.texts.append(content)
    elif isinstance(content, list):
        for i, part in enumerate(content):
            if isinstance(part, str):
                checked.texts.append(part)
            elif isinstance(part, dict):
                if isinstance(part.get("text"), str):
                    checked.texts.append(part["text"])
                else:
                    checked.parts += 1
            else:
                raise MessageError(f"content[{i}] is {type(part).__name__}; allowed: a dict (a part) or a str")
    elif content is not None or role != "assistant":
        what = "missing" if "content" not in message else type(content).__name__
        raise MessageError(
            f"content of a {role} message is {what}; allowed: a str or a list of parts"
            + (", or None" if role == "assistant" else "")
        )


def _read_calls(checked: Checked, message: Message) -> None:
    role, calls = message["role"], message.get("tool_calls")
    if role == "tool":
        answers = message.get("tool_call_id")
        if not isinstance(answers, str):
            what = "missing" if answers is None else type(answers).__name__
            raise MessageError(
                f"tool_call_id of a tool message is {what}; allowed: the id of the call it answers, a str"
            )
        checked.answers = answers
    if not calls and (calls is None or isinstance(calls, list)):
        return
    if role != "assistant":
        raise MessageError(f"tool_calls stands in a {role} message; only an assistant message makes calls")
    if not isinstance(calls, list):
        raise MessageError(f"tool_calls is {type(calls).__name__}; allowed: a list of calls")
    for i, call in enumerate(calls):
        if not isinstance(call, dict):
            raise MessageError(f"tool_calls[{i}] is {type(call).__name__}; allowed: a dict with id and function")
        if not isinstance(call.get("id"), str):
            raise MessageError(f"tool_calls[{i}] has no id; allowed: a str, by which its result finds it")
        function = call.get("function")
        if function is None:  # another kind of call, such as OpenAI's custom tools: all its texts are counted
            checked.calls.append(_strings({k: v for k, v in call.items() if k not in ("id", "type")}))
        elif not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise MessageError(f"tool_calls[{i}].function has no name; allowed: a dict with name and arguments")
        else:
            arguments = function.get("arguments")
            if isinstance(arguments, dict):
                import json

                arguments = json.dumps(arguments, ensure_ascii=False)
            elif arguments is not None and not isinstance(arguments, str):
                raise MessageError(
                    f"tool_calls[{i}].function.arguments is {type(arguments).__name__}; allowed: JSON text or a dict"
                )
            checked.calls.append([function["name"], arguments or ""])
        checked.call_ids.append(call["id"])


class _Walk:
    """Looks at every string of a message, keys included: lone surrogates, weight, depth."""

    __slots__ = ("broken", "bytes")

    def __init__(self) -> None:
        self.broken = False
        self.bytes = 0

    def visit(self, value: object, depth: int, where: str) -> None:
        if isinstance(value, str):
            if type(value) is not str:  # an enum or the like: kept as the plain text that it is
                value, self.broken = value[:], True
            self.bytes += 64 + (len(value) if value.isascii() else 2 * len(value))
            self.broken = self.broken or _core.has_surrogate(value)
        elif isinstance(value, (dict, list, tuple)):
            if depth >= MAX_DEPTH:
                raise MessageError(f"{where} is nested deeper than {MAX_DEPTH} levels, or contains itself")
            self.bytes += 64
            if isinstance(value, dict):
                for key, item in value.items():
                    if depth == 0 and not isinstance(key, str):
                        raise MessageError(f"a key of the message is {brief(key)}; keys are str")
                    if isinstance(key, str):
                        self.broken = self.broken or type(key) is not str or _core.has_surrogate(key)
                    self.visit(item, depth + 1, key if depth == 0 else where)
            else:
                for item in value:
                    self.visit(item, depth + 1, where)


def _scrubbed(value: Any) -> Any:
    """The value with each lone surrogate replaced by U+FFFD: what UTF-8 can't carry is never handed on."""
    if isinstance(value, str):
        value = value[:]  # of a subclass this makes a str
        if not _core.has_surrogate(value):
            return value
        return "".join("\ufffd" if 0xD800 <= ord(c) <= 0xDFFF else c for c in value)
    if isinstance(value, dict):
        return {_scrubbed(k): _scrubbed(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_scrubbed(v) for v in value]
    return value


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [s for v in value.values() for s in _strings(v)]
    if isinstance(value, (list, tuple)):
        return [s for v in value for s in _strings(v)]
    return []


def repair(message: Message, answered: list[str]) -> Message | None:
    """A call message without the calls that were never answered; None when nothing of it is left.

    `answered` holds the ids of the results that came, each as often as it came.
    """
    left = list(answered)
    calls = []
    for call in message["tool_calls"]:
        if call["id"] in left:
            left.remove(call["id"])
            calls.append(call)
    if calls:
        return {**message, "tool_calls": calls}
    rest = {k: v for k, v in message.items() if k != "tool_calls"}
    return rest if rest.get("content") else None
