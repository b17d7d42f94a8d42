"""Grounding: an exact value that its source does not hold is invented, and the item that holds it goes.

Looked at are numbers, dates, times, amounts, phones, codes, addresses of mail and pages, and quoted names. Other
words are not: a summariser may phrase as it likes.
"""

from __future__ import annotations

import re

from ..types import Summary
from .clauses import MOST_TEXT, content_of
from .exact import normalised, values_of
from .text import mark_of, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..types import Item, Source
    from .exact import Value

__all__ = ["ground"]

_QUOTED = re.compile(
    r"「([^「」\n]{1,200})」|『([^『』\n]{1,200})』|《([^《》\n]{1,200})》|〈([^〈〉\n]{1,200})〉|“([^“”\n]{1,200})”"
    r"|‘([^‘’\n]{1,200})’|\"([^\"\n]{1,200})\"|(?<![\w'])'([^'\n]{1,200}(?:'\w[^'\n]{0,100})*)'(?![\w'])"
)
_LOOSE = re.compile(r"[\s，,。.、；;：:！!？?~·・\"“”'‘’「」『』《》〈〉（）()\[\]【】-]+")
MOST_TRIES = 64
"""Places of a source that are looked at for one quoted name: "a" stands in a megabyte too often."""
DAY_MS = 86_400_000
# Mean Gregorian year: enough to know which year a message was written in, give or take a day around New Year.
YEAR_MS = 31_556_952_000


def ground(summary: Summary, sources: list[Source], previous: Summary | None) -> tuple[Summary, int]:
    """The summary without the items and keywords that hold a value which no source and no previous item holds, and how
    many items went."""
    evidence = _Evidence(sources, previous)
    kept: list[Item] = [item for item in summary.items if evidence.holds(item.text)]
    words = [word for word in summary.keywords if evidence.holds(word)]
    return Summary(kept, words), len(summary.items) - len(kept)


class _Evidence:
    """All exact values of the sources, in every form in which they may be told again."""

    def __init__(self, sources: list[Source], previous: Summary | None) -> None:
        self._values: set[Value] = set()
        self._years: set[int] = set()
        self._currencies: dict[str | int, set[str | int]] = {}
        texts: list[str] = []
        for source in sources:
            texts += _texts(source)
            if source.time > 0:
                near = {1970 + (source.time + shift) // YEAR_MS for shift in (-DAY_MS, DAY_MS)}
                self._years |= near | {year + 1 for year in near}
        texts += [item.text for item in previous.items] if previous is not None else []
        for text in texts:
            self._add(normalised(text))
        # For quoted names. The separator occurs in no text, so that no name is found across two of them.
        self._text = "\0".join(_loose(text) for text in texts)
        self._whole = "\0".join(_plain(text) for text in texts)

    def holds(self, text: str) -> bool:
        """Whether every exact value and every quoted name of the text is told in the sources."""
        if not all(self._told(value) for value in values_of(normalised(text))):
            # Where a value begins and ends depends on what stands around it; a quote is a quote whatever it holds.
            return self._quoted(text[len(mark_of(text)) :])
        return all(self._said(name) for found in _QUOTED.finditer(text) for name in found.groups() if name)

    def _add(self, text: str) -> None:
        add = self._values.add
        for value in values_of(text):
            add(value)
            kind = value[0]
            if kind == "date":
                year, month, day = value[1:]
                add(("date", 0, month, day))
                add(("month", month))
                add(("day", day))
                add(("yearless" if not year else "dated", month, day))
                if isinstance(year, int) and year:
                    self._years.add(year)
                    add(("num", str(year)))
            elif kind == "num":
                number = str(value[1])
                if len(number) == 4 and number[:2] in ("19", "20"):
                    self._years.add(int(number))
                self._currencies.setdefault(number, set()).add("")
            elif kind == "money":
                add(("num", value[1]))
                self._currencies.setdefault(value[1], set()).add(value[2])
            elif kind == "pct":
                add(("num", value[1]))
            elif kind == "day":
                add(("num", str(value[1])))
            elif kind == "clock" and isinstance(value[1], int):
                add(("hour", value[1] - 12 if value[1] > 12 else value[1], value[2]))
            elif kind == "hour" and isinstance(value[1], int):
                # Half of the day unknown: it may be told with either.
                add(("clock", value[1] % 12, value[2]))
                add(("clock", value[1] % 12 + 12, value[2]))
                add(("clock", value[1], value[2]))
            elif kind == "pair":
                for part in value[1:]:
                    add(("num", part))
                    self._currencies.setdefault(part, set()).add("")
                first, second = str(value[1]), str(value[2])
                for month, day in ((first, second), (second, first)):
                    if month.isdigit() and day.isdigit() and 1 <= int(month) <= 12 and 1 <= int(day) <= 31:
                        add(("date", 0, int(month), int(day)))
                        add(("yearless", int(month), int(day)))

    def _told(self, value: Value) -> bool:
        if value in self._values:
            return True
        kind = value[0]
        if kind == "date":
            # The year may come from the message's own time, or from the text, where the day came without one.
            return value[1] in self._years and ("yearless", value[2], value[3]) in self._values
        if kind == "money":
            # An amount that came without a currency may get one; one that had another may not.
            return "" in self._currencies.get(value[1], ())
        if kind == "day":
            return ("num", str(value[1])) in self._values
        if kind == "num" and str(value[1]).isdigit() and len(str(value[1])) == 4:
            return int(str(value[1])) in self._years and ("num", value[1]) in self._values
        if kind == "pair":
            first, second = str(value[1]), str(value[2])
            if ("num", first) in self._values and ("num", second) in self._values:
                return True
            return (
                first.isdigit()
                and second.isdigit()
                and (
                    ("date", 0, int(first), int(second)) in self._values
                    or ("date", 0, int(second), int(first)) in self._values
                )
            )
        return False

    def _quoted(self, text: str) -> bool:
        """Whether the text is a slice of a source that cuts no value at its ends."""
        wanted = _plain(text)
        start = self._whole.find(wanted) if wanted else -1
        for _ in range(MOST_TRIES):
            if start < 0:
                break
            end = start + len(wanted)
            if not _TORN.search(self._whole[max(0, start - 2) : start] + "\x01" + wanted[:1]) and not _TORN.search(
                wanted[-1:] + "\x01" + self._whole[end : end + 2]
            ):
                return True
            start = self._whole.find(wanted, start + 1)
        return False

    def _said(self, name: str) -> bool:
        """Whether the quoted words are in the sources, as whole words where they are written with letters."""
        wanted = _loose(name)
        if not wanted.strip():
            return True
        start = self._text.find(wanted)
        for _ in range(MOST_TRIES):
            if start < 0:
                break
            end = start + len(wanted)
            before = self._text[start - 1] if start else " "
            after = self._text[end] if end < len(self._text) else " "
            if not (_letter(before) and _letter(wanted[0])) and not (_letter(after) and _letter(wanted[-1])):
                return True
            start = self._text.find(wanted, start + 1)
        return False


def _texts(source: Source) -> Iterator[str]:
    """All that a message tells: its content, its name, its calls."""
    message = source.message
    yield content_of(message)
    if isinstance(message.get("name"), str):
        yield message["name"]
    for call in message.get("tool_calls") or ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            yield str(function.get("name", ""))
            yield _unescaped(printable(str(function.get("arguments", ""))[:MOST_TEXT]))


def _unescaped(arguments: str) -> str:
    """JSON in which every character stands for itself."""
    if "\\u" not in arguments:
        return arguments
    import json

    try:
        return json.dumps(json.loads(arguments), ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments


def _plain(text: str) -> str:
    return text.translate(_WIDE).lower()


def _loose(text: str) -> str:
    """Lower case and half-width, with one space for what separates words."""
    return _LOOSE.sub(" ", _plain(text)).strip()


# A cut (U+0001) with a value on both sides of it, or only a separator between: 1,|280  zhou.|qiming  二|十.
_TORN = re.compile(
    r"[a-z0-9%][.,:@/_+~-]?\x01[.,:@/_+~-]?[a-z0-9%]|[零〇一二三四五六七八九十百千万亿两\d]\x01[零〇一二三四五六七八九十百千万亿两\d]"
)
_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}


def _letter(char: str) -> bool:
    return char.isascii() and char.isalnum()
