"""What a later statement makes obsolete: corrections, and what is only said again.

Statements are admitted one by one, oldest first. Those admitted can be found by the exact values that they hold and by
the kind of what they say, so that each new one meets only those it can concern.
"""

from __future__ import annotations

import re

from .clauses import clauses_of, kernel
from .patterns import SLOTS, STRONG
from .text import MARKS, mark_of
from .worth import weigh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .worth import Worth

__all__ = ["Shelf", "Statement"]

MOST_MET = 16
"""Earlier statements that one new statement is compared with, the newest of them: keeps the whole linear."""

_OLD = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"不是\s?([^，,。？?是]{1,30})[，,、]?\s?(?:而)?是",
        r"(?:从|由|把|将)\s?([^，,。？?]{1,30}?)\s?(?:改|换|调|挪|推迟|提前|变|更正)(?:成|为|到|至)",
        r"([^，,。？?]{1,30}?)\s?(?:改成|改为|改到|改至|换成|换为|更正为|推迟到|提前到)",
        r"([^，,。？?]{1,30}?)(?:取消|作废|不要|不用|不去|不算)了?",
        r"取消(?:了)?\s?([^，,。？?]{1,30})",
        r"\bnot (?:on |at |in |the )?([^,.?;]{1,40}?)[,;]? but\b",
        r"(?:,|;|\bor) not (?:on |at |in |the )?([^,.?;]{1,40})",
        r"\b(?:instead of|rather than) ([^,.?;]{1,40})",
        r"\bfrom ([^,.?;]{1,40}?) to\b",
        r"\bchanged? (?:the |my |it |that )*([^,.?;]{1,40}?) to\b",
        r"\bcancel(?:led)? (?:the |my )*([^,.?;]{1,40})",
        r"\b(?:it's|it is|that's|is) not ([^,.?;]{1,40})",
    )
]
_RENEWED = re.compile(
    r"新(?:的)?(?:手机|电话|号码|邮箱|地址|联系人|公司|期限)|(?:以后|今后|从现在起|现在)(?:都|就|改|请|住|在|打|发|送|找|用)"
    r"|\bnew (?:phone|number|e-?mail|address|name|job|deadline)\b"
    r"|\bfrom now on\b|\bi(?:'ve| have)? moved\b|\bnow lives?\b",
    re.IGNORECASE,
)
_THIRD = re.compile(
    r"([一-鿿]{1,4}|[A-Za-z]{2,20})(?:的|'s )(?:新)?"
    r"(?:手机|电话|号码|邮箱|地址|名字|公司|phone|number|e-?mail|address|name)"
    r"|\b(?:his|her|their)\b|[他她]们?的"
)
"""Whose phone, address … it is, when it is not the speaker's."""
_OWN = frozenset({"我", "我们", "咱们", "您", "您们", "你", "联系", "收货", "公司", "你们"})
_UNSURE = frozenset({"total", "model", "deadline", "company", "name", "discount", "reachable"})
"""Slots of which a conversation may know several: a correction must share a word with what it corrects."""
_CHUNK = re.compile(r"\d[\d,.:：/-]*\d|\d|[A-Za-z][A-Za-z0-9._@+-]+|[一-鿿]")
_DUE = re.compile(r"期限|死线|截止|截至|deadline|due date|due by", re.IGNORECASE)
"""Words for the same thing that share none of their characters."""
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")
_SPACE = re.compile(r"[\s，,。.！!？?；;：:、“”\"'「」（）()-]+")


class Statement:
    """A text, the messages it rests on, and its worth. None of them changes but by replacing the statement."""

    __slots__ = ("_bigrams", "alive", "order", "seqs", "strong", "text", "worth")

    def __init__(self, text: str, seqs: tuple[int, ...], worth: Worth, order: int) -> None:
        self.text = text
        self.seqs = seqs
        self.worth = worth
        self.order = order
        self.alive = True
        self.strong = frozenset(_value(match) for match in STRONG.findall(text)) if worth.values else frozenset()
        self._bigrams: frozenset[str] | None = None

    @property
    def bigrams(self) -> frozenset[str]:
        """What the text says, without its numbers."""
        if self._bigrams is None:
            self._bigrams = _bigrams(self.text)
        return self._bigrams


class Shelf:
    """The statements that still hold."""

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        self._exact: dict[str, Statement] = {}
        self._by_value: dict[str, list[Statement]] = {}
        self._by_slot: dict[str, list[Statement]] = {}

    def admit(self, statement: Statement) -> None:
        """Takes the statement in, unless one that holds says the same; what it corrects goes."""
        key = _SPACE.sub("", statement.text).lower()
        same = self._exact.get(key)
        if same is not None and same.alive:
            return
        mark = mark_of(statement.text)
        corrects = mark not in MARKS[1::2] and (
            "corrected" in statement.worth.kinds or _RENEWED.search(statement.text) is not None
        )
        if corrects:
            self._correct(statement)
        elif self._said_before(statement):
            return
        self.statements.append(statement)
        self._exact[key] = statement
        for value in statement.strong:
            self._by_value.setdefault(value, []).append(statement)
        for chunk in _numbers(statement.text):
            if chunk not in statement.strong:
                self._by_value.setdefault(chunk, []).append(statement)
        for slot in statement.worth.kinds & SLOTS:
            self._by_slot.setdefault(slot, []).append(statement)

    def holding(self) -> list[Statement]:
        return [statement for statement in self.statements if statement.alive]

    def _said_before(self, new: Statement) -> bool:
        """Whether an earlier one has all its exact values and most of its words; else what it repeats counts less."""
        if not new.strong:
            return self._similar(new)
        for value in new.strong:
            for old in self._by_value.get(value, [])[-MOST_MET:]:
                if not old.alive or not new.strong <= old.strong:
                    continue
                if not new.bigrams or len(new.bigrams & old.bigrams) >= 0.5 * len(new.bigrams):
                    return True
                if new.worth.durable:
                    # The value is safe where it was said first: what is said about it now is news, no more.
                    new.worth = weigh(new.text, without=new.worth.kinds & (old.worth.kinds | SLOTS | {"identifier"}))
            break
        return False

    def _similar(self, new: Statement) -> bool:
        """The same for statements without exact values: a slot said before in nearly the same words."""
        for slot in sorted(new.worth.kinds & SLOTS):
            for old in self._by_slot.get(slot, [])[-MOST_MET:]:
                if old.alive and new.bigrams and len(new.bigrams & old.bigrams) >= 0.75 * len(new.bigrams):
                    return True
        return False

    def _correct(self, new: Statement) -> None:
        """Removes what the statement replaces: what holds the old value that it names, or the value of its slot."""
        body = new.text[len(mark_of(new.text)) :]
        joined = _THOUSANDS.sub("", body)
        for pattern in _OLD:
            for found in pattern.finditer(joined):
                self._remove_value(found.group(1), new)
        if body != new.text:
            return  # an assistant may name what was corrected, but which slot it means is the user's to say
        owner = _owner(body)
        values = _numbers(body) | new.strong
        for slot in new.worth.kinds & SLOTS:
            for old in self._by_slot.get(slot, [])[-MOST_MET:]:
                if not old.alive or not values or values <= (_numbers(old.text) | old.strong):
                    continue  # it says nothing new: a mention, no correction
                if _owner(old.text) == owner and (slot not in _UNSURE or new.bigrams & old.bigrams):
                    self._remove(old, slot, None)

    def _remove_value(self, old_value: str, new: Statement) -> None:
        """Removes the clauses that hold the old value and speak of the same thing."""
        for value in list(_numbers(old_value))[:4]:
            for old in self._by_value.get(value, [])[-MOST_MET:]:
                # A short number says little: the statements must also share a word.
                if old.alive and (len(value) >= 4 or new.bigrams & old.bigrams):
                    self._remove(old, "", value)

    def _remove(self, old: Statement, slot: str, value: str | None) -> None:
        """Removes the clauses of the slot or with the value; what else the statement says stays."""
        old.alive = False
        mark = mark_of(old.text)
        kept: list[str] = []
        for clause in clauses_of(old.text[len(mark) :]):
            gone = value in _numbers(clause) if value is not None else slot in weigh(clause).kinds
            if not gone:
                kept.append(clause)
        rest = kernel("".join(kept))
        worth = weigh(mark + rest)
        if kept and len(kept) < len(clauses_of(old.text[len(mark) :])) and worth.score >= 2 and worth.values:
            left = Statement(mark + rest, old.seqs, worth, old.order)
            self.statements.append(left)
            for number in left.strong | _numbers(left.text):
                self._by_value.setdefault(number, []).append(left)
            for name in worth.kinds & SLOTS:
                self._by_slot.setdefault(name, []).append(left)


def _value(text: str) -> str:
    return text.replace(",", "").lower()


def _numbers(text: str) -> set[str]:
    """Numbers and codes, without the separators of thousands."""
    return {_value(chunk) for chunk in _CHUNK.findall(text) if any(char.isdigit() for char in chunk)}


def _bigrams(text: str) -> frozenset[str]:
    """What a text says, without its numbers: pairs of Chinese characters, and words."""
    chunks = [chunk.lower() for chunk in _CHUNK.findall(text) if not chunk[0].isdigit()]
    out = set()
    for i, chunk in enumerate(chunks):
        if chunk[0] < "\u2e80":
            if len(chunk) > 2:
                out.add(chunk)
        elif i + 1 < len(chunks) and chunks[i + 1][0] >= "\u2e80":
            out.add(chunk + chunks[i + 1])
    if _DUE.search(text):
        out.add("=due")
    return frozenset(out)


def _owner(text: str) -> str:
    """Whose the slot is: "" for the speaker's own."""
    found = _THIRD.search(text)
    return "" if not found or found.group(1) in _OWN else found.group(0)
