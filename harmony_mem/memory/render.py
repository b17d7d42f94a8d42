"""A prompt as one text. Text is text: nothing inside a message can end it or open another one.

plain   one message a line, `role: content`; a line break inside a message is followed by two spaces, so that no content
        can begin a line with a role.
chatml  the template of that name, ending with the opening of the assistant's answer; a marker such as <|im_end|>, or a
        tag of the tool format, gets a space behind its `<` where it stands inside content.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..types import Message

__all__ = ["STYLES", "render"]

TAGS = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>")


def render(messages: list[Message], style: str) -> str:
    """The messages in one of STYLES."""
    return STYLES[style](messages)


def _plain(messages: list[Message]) -> str:
    lines = []
    for message in messages:
        pieces = [text for text in [_text(message, lambda s: s)] if text]
        pieces += [f"[call {name}({arguments})]" for name, arguments in _calls(message)]
        body = "  ".join("\n".join(pieces).splitlines(keepends=True))
        if body and body[-1] in "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029":
            body += "  "
        lines.append(f"{message['role']}: {body}")
    return "\n".join(lines)


def _chatml(messages: list[Message]) -> str:
    out = []
    in_results = False
    for message in messages:
        role, text = message["role"], _text(message, _escaped)
        if role == "tool":  # results of one round stand in one user block, as Qwen's template has them
            out.append("" if in_results else "<|im_start|>user")
            out.append(f"\n<tool_response>\n{text}\n</tool_response>")
            in_results = True
            continue
        if in_results:
            out.append("<|im_end|>\n")
            in_results = False
        body = [text] if text else []
        for name, arguments in _calls(message):
            import json

            body.append(
                f'<tool_call>\n{{"name": {json.dumps(_escaped(name), ensure_ascii=False)}, '
                f'"arguments": {_escaped(arguments) or "{}"}}}\n</tool_call>'
            )
        joined = "\n".join(body)
        out.append(f"<|im_start|>{role}\n{joined}<|im_end|>\n")
    if in_results:
        out.append("<|im_end|>\n")
    return "".join(out) + "<|im_start|>assistant\n"


def _text(message: Message, clean: Callable[[str], str]) -> str:
    """The content as one text; a part that is no text is named by its type in brackets."""
    content: Any = message.get("content")
    if content is None:
        return ""
    if isinstance(content, str):
        return clean(content)
    pieces = []
    for part in content:
        if isinstance(part, str):
            pieces.append(clean(part))
        elif isinstance(part.get("text"), str):
            pieces.append(clean(part["text"]))
        else:
            pieces.append(f"[{clean(str(part.get('type', 'part')))}]")
    return "".join(pieces)


def _calls(message: Message) -> list[tuple[str, str]]:
    found = []
    for call in message.get("tool_calls") or []:
        function = call.get("function") or {"name": call.get("type") or "call", "arguments": call}
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            import json

            arguments = "" if arguments is None else json.dumps(arguments, ensure_ascii=False)
        found.append((str(function["name"]), arguments))
    return found


def _escaped(text: str) -> str:
    """The text with a space behind the `<` of every template token and tool tag."""
    if "<" not in text:
        return text
    text = _escape_tokens(text)
    for tag in TAGS:
        text = text.replace(tag, "< " + tag[1:])
    return text


def _escape_tokens(text: str) -> str:
    """`<|name|>` becomes `< |name|>`: a name is up to 64 letters, digits, `_`, `-`, `.`, `▁` or `｜`."""
    out, at = [], 0
    while (start := text.find("<", at)) >= 0:
        out.append(text[at : start + 1])
        at = start + 1
        bar = text[at : at + 1]
        if bar not in ("|", "｜") or not bar:
            continue
        end = text.find(bar + ">", at + 1, at + 67)
        if end > at and all(c.isalnum() or c in "_-.▁" for c in text[at + 1 : end]):
            out.append(" ")
    out.append(text[at:])
    return "".join(out)


STYLES: dict[str, Callable[[list[Message]], str]] = {"plain": _plain, "chatml": _chatml}
