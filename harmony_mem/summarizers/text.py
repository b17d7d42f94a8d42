"""Text from outside made harmless: a leaf, and loaded without `re`, so that it costs an idle process nothing."""

from __future__ import annotations

__all__ = ["MARKS", "mark_of", "printable"]

MARKS = ("助手：", "工具：", "[assistant] ", "[tool] ")
"""What stands before a quote that the user did not say. A promise is nothing when one can't tell whose it is."""


_BREAKS = "\v\f\x85\u2028\u2029"
_TABLE: dict[int, str] = {code: "\0" for code in (*range(0x20), *range(0x7F, 0xA0)) if code not in (9, 10)}
_TABLE |= {ord(char): "\n" for char in _BREAKS}


def printable(text: str) -> str:
    """The text without control characters, with "\\n" for every kind of line end; lone surrogates become U+FFFD."""
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n").translate(_TABLE)
    if "\0" in text:
        # Between two digits something must stay: 50\x96100 is no 50100.
        pieces = [text.split("\0")[0], *(piece for piece in text.split("\0")[1:] if piece)]
        for i in range(1, len(pieces)):
            before = pieces[i - 1] or " "
            if before[-1].isdigit() and pieces[i][:1].isdigit():
                pieces[i] = " " + pieces[i]
        text = "".join(pieces)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def mark_of(text: str) -> str:
    """The mark that the text begins with, or ""."""
    return next((mark for mark in MARKS if text.startswith(mark)), "")
