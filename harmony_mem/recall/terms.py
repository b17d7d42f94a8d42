"""From text to search terms: character bigrams where words aren't divided by spaces, words elsewhere, codes whole.

    terms("会议定在2026-01-05")     ->  ["2026", "1", "5", "20260105", "会议", "议定", "定在"]
    terms("Bookings for A-1203")    ->  ["book", "a", "1203", "a1203"]   (stop words dropped, endings cut)

Mixed text is handled run by run. Everything is linear in the length of the text. The rules know no user data: no
dictionary, no segmenter, nothing to load.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["MAX_TEXT", "MAX_WORD", "clip", "terms"]

MAX_TEXT = 16_384
"""Characters of one text that are read: half at its start, half at its end. What lies between can't be found."""
MAX_WORD = 64
"""Characters of one word that count. Base64 and the like must not become keys of a megabyte."""

# Scripts that are written without spaces between words, or nearly so: Chinese, Japanese, Korean, and Thai to Khmer.
# Pairs of first and last code point, in order.
_UNSPACED = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1100, 0x11FF),
    (0x1780, 0x17FF),
    (0x2E80, 0x2FDF),
    (0x3005, 0x3007),
    (0x3041, 0x318F),
    (0x31A0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFFDC),
    (0x20000, 0x3FFFF),
)
# Inside a word these join its parts: dates, times, decimals, phones, codes, addresses.
_JOINERS = "-./:_@+#,'"
# A full-width comma or quote is Chinese punctuation and ends what stands before it.
_FULL_WIDTH_BREAKS = (0xFF0C, 0xFF07)
# Written differently by different people, so the whole is kept without them: 2026-01-05 and 2026/01/05, 1,200 and 1200.
_SEPARATORS = str.maketrans("", "", "-/,")
_TO_SPACES = str.maketrans(_JOINERS, " " * len(_JOINERS))

_STOP = """
    a about all also am an and any are as at be been being but by can could did do does doing for from get
    got had has have having he her here hers him his how i if in into is it its just let like me my mine no
    not of on or our ours out she should so some such than that the their theirs them then there these they
    this those to too up us very was we were what when where which who whom whose why will with would you
    your yours don doesn didn isn aren wasn weren won please
"""
_STOP_WORDS = frozenset(_STOP.split())
# Characters that carry grammar and no subject. A bigram of two of them, or one alone, says nothing.
_STOP_CHARACTERS = frozenset(
    "的了吗呢吧啊呀嘛哦是我你您他她它们这那哪什么怎谁几和与或及就都也还又很在有没不把被给对从到于之其请个些"
)


class _Table(dict[int, str]):
    """A table for str.translate that is filled as characters come up. It stops growing at 8,192 of them."""

    def __init__(self, rule: Callable[[int], str]) -> None:
        super().__init__()
        self._rule = rule

    def __missing__(self, point: int) -> str:
        out = self._rule(point)
        if len(self) < 8192:
            self[point] = out
        return out


def _unspaced(point: int) -> bool:
    return point >= 0x0E00 and any(first <= point <= last for first, last in _UNSPACED)


def _word_character(point: int) -> str:
    """Letters and digits in lower case, joiners as they are, full-width forms as ASCII; all else parts words."""
    if 0xFF01 <= point <= 0xFF5E and point not in _FULL_WIDTH_BREAKS:
        point -= 0xFEE0
    character = chr(point)
    if character in _JOINERS or point == 0x2019:
        return "'" if point == 0x2019 else character
    return character.lower() if character.isalnum() and not _unspaced(point) else " "


def _unspaced_character(point: int) -> str:
    return chr(point) if _unspaced(point) and chr(point).isprintable() else " "


_WORDS = _Table(_word_character)
_RUNS = _Table(_unspaced_character)


def clip(text: str, limit: int = MAX_TEXT) -> str:
    """The text, or the two ends of one that is longer than `limit`."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n{text[-half:]}"


def terms(text: str) -> list[str]:
    """The terms of a text, each as often as it occurs: those of words first, then those of unspaced runs."""
    text = clip(text)
    out = list(_of_words(text.translate(_WORDS).split()))
    if not text.isascii():
        out.extend(_of_runs(text.translate(_RUNS).split()))
    return out


def _of_words(words: list[str]) -> Iterator[str]:
    for word in words:
        if not word.isalnum():
            word = word.strip(_JOINERS)
            if word[-2:-1] == "'" or word[-3:-2] == "'":  # it's, don't, we'll
                word = word[: word.rindex("'")]
            parts = word.translate(_TO_SPACES).split()
            if len(parts) > 1:
                for part in parts:
                    if part not in _STOP_WORDS:
                        yield _normal(part)
                if any(map(str.isdigit, word)) or "@" in word:
                    yield word.translate(_SEPARATORS)[:MAX_WORD]
                continue
        if word and word not in _STOP_WORDS:
            yield _normal(word)


def _of_runs(runs: list[str]) -> Iterator[str]:
    for run in runs:
        if len(run) == 1:
            if run not in _STOP_CHARACTERS:
                yield run
            continue
        for i in range(len(run) - 1):
            if run[i] not in _STOP_CHARACTERS or run[i + 1] not in _STOP_CHARACTERS:
                yield run[i : i + 2]


def _normal(word: str) -> str:
    """One word as a term: 05 is 5, English endings are cut, and what is beyond MAX_WORD."""
    if len(word) == 2 and word[0] == "0":
        return word[1]
    if len(word) > 3 and word.isascii() and word.isalpha():
        return _stem(word[:MAX_WORD])
    return word[:MAX_WORD]


def _stem(word: str) -> str:
    """The word without its commonest endings; a final e goes too, so that bake, bakes, baked and baking meet."""
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-3] + "y" if word.endswith("ies") and len(word) > 4 else word[:-1]
    if word.endswith("ied") and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ing", "ed", "ly"):
        stem = word[: -len(ending)]
        if word.endswith(ending) and len(stem) >= 3:
            word = stem[:-1] if stem[-1] == stem[-2] and stem[-1] not in "lsz" else stem
            break
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    return word
