"""The text of a message, cut into sentences and clauses. Every piece is a verbatim slice of the text."""

from __future__ import annotations

import re

from .text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["MOST_TEXT", "clauses_of", "content_of", "is_question", "kernel", "sentences_of", "width"]

LONGEST = 400
"""Characters of a sentence. What runs on longer (a pasted file, a log) is cut, so that no step below sees more."""
MOST_TEXT = 65_536
"""Characters of one message that are looked at: a pasted book must not hold up a turn. Both ends are kept."""

# A sentence ends at its mark, together with closing quotes; an ASCII full stop only before white space, and not after
# an initial or a common abbreviation.
_SENTENCE = re.compile(
    r"(?<=[。！？!?；;])(?![\"'”’」』）)])|(?<=[。！？!?；;][\"”’」』）)])"
    r"|(?<![A-Z]\.)(?<=[A-Za-z0-9)\"”一-鿿]\.)(?<!Mr\.)(?<!Dr\.)(?<!Ms\.)(?<!No\.)(?<!St\.)(?<!Mrs\.)(?<!a\.m\.)(?<!p\.m\.)"
    r"(?=\s)|\n+"
)
# A clause ends at a comma that is not inside a number, at a dash, or before the conjunctions that begin a new thought.
_CLAUSE = re.compile(
    r"(?<=[，、])(?<!、)|(?<=,)(?=\s)|(?<=,)(?=[一-鿿])|(?<=\s)(?=(?:but|because|although|though)\s)|(?<=——)"
    r"|(?<=\s)(?=and (?:i|I|my|our|we)\b)"
)
_FILLER = re.compile(
    r"(?:好[的啊呀嘞吧]*|嗯+|哦对?|噢|啊|对了?|是的|可以[的啊]?|行|没问题|明白了?|收到|知道了|另外|还有|顺便(?:问|说)?一?下?"
    r"|先说明一下|提前说一声|说一下|你好[啊呀]?|您好|在吗|谢谢[你您]?(?:了|的帮助)?|不客气|太好了|那|哎|唉|抱歉|不好意思"
    r"|hi(?: there| again)?|hello|hey(?: there)?|sure|ok(?:ay)?|thanks?(?: you)?(?: so much)?|great"
    r"|yes|yeah|well|oh|also|alright|perfect|got it"
    r"|so|and|but|plus|because|since(?= (?:i|my|we|our|the) )|then|anyway|honestly"
    r"|speaking of[^,]{2,20}|as for[^,]{2,20}|that said"
    r"|no problem|certainly|of course)(?:[\s，,。.!！~、：:—-]+|$)",
    re.IGNORECASE,
)
_BULLET = re.compile(r"\s*(?:[-*•·]\s+|\(?\d{1,2}[.)、]\s+|#{1,6}\s+)")
_ASKS = re.compile(
    r"[?？]|(?:吗|呢|(?<![什怎这那多])么)[\s。.!！~]*$"
    r"|(?<!没)什么(?!的|都)|怎么(?!都)|哪[里儿个些天位家款种]|第几|几点(?=[，。开到]|$)|多少(?!都)|多久|多长|多大|谁(?!都)|为何|为啥"
    r"|是不是|能不能|要不要|有没有|行不行|好不好|对不对|可不可以"
)
_ASKS_FIRST = re.compile(
    r"\s*(?:so |and |but |also )?(?:what|who|whose|where|when|why|how|which|is|are|was|were|do|does|did|am|will|"
    r"has|have|should|shall|may|might)(?:n't)?\b",
    re.IGNORECASE,
)
# Asked in form, but it is an order that carries what is wanted.
_ORDERS = re.compile(
    r"帮我|给我|替我|请(?![问教])|麻烦|\d.*推荐|想[要找去订吃]"
    r"|\b(?:can|could|would|will) (?:you|we|i)\b|\bi(?:'d| would) like\b"
    r"|\bplease\b",
    re.IGNORECASE,
)


def content_of(message: dict[str, Any]) -> str:
    """The text of a message: its content, or the text parts of it. Nothing that is no text raises."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "\n".join(text for text in parts if isinstance(text, str))
    if not isinstance(content, str):
        return ""
    if len(content) > MOST_TEXT:
        content = f"{content[: MOST_TEXT // 2]}\n{content[-MOST_TEXT // 2 :]}"
    return printable(content)


def sentences_of(text: str) -> Iterator[str]:
    """The sentences, without the white space around them."""
    for piece in _SENTENCE.split(text):
        sentence = piece.strip() if piece else ""
        while len(sentence) > LONGEST:
            at = sentence.rfind(" ", LONGEST // 2, LONGEST)
            at = at if at > 0 else LONGEST
            yield sentence[:at].rstrip()
            sentence = sentence[at:].lstrip()
        if sentence:
            yield sentence


def clauses_of(sentence: str) -> list[str]:
    """The clauses of a sentence; joined again they are the sentence."""
    return [piece for piece in _CLAUSE.split(sentence) if piece]


def kernel(text: str) -> str:
    """The slice without greetings and fillers before it and without the mark behind it."""
    text = text.strip()
    for _ in range(4):
        filler = _FILLER.match(text)
        if not filler or filler.end() == 0:
            break
        text = text[filler.end() :]
    bullet = _BULLET.match(text)
    if bullet:
        text = text[bullet.end() :]
    return text.strip(" \t，,、。；;：:!！~-—").removesuffix(".")


def is_question(clause: str) -> bool:
    """Whether the clause asks for something and says nothing itself."""
    if _ORDERS.search(clause):
        return False
    return _ASKS.search(clause) is not None or (_ASKS_FIRST.match(clause) is not None and clause.rstrip().endswith("?"))


def width(text: str) -> int:
    """About how much a reader takes in: a Chinese character weighs as much as two others."""
    return len(text) + sum(1 for char in text if char >= "\u2e80")
