"""Keywords of a summary without a dictionary: words for what is written with letters, frequent runs for Chinese."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MOST", "keywords_of"]

MOST = 12

_WORD = re.compile(r"[A-Za-z0-9]+(?:[-_.@+/][A-Za-z0-9]+)*|[一-鿿]+")
# Characters that bind words together and are rarely part of a noun: a run of Chinese is cut at them.
_BINDS = re.compile(
    "[的了是在我你您他她它们就和给把被有不也都要很还又再但而与及或所以为因从向对于这那哪个么什怎呢吗吧啊呀嘛着过地得之其让叫请能会可想说"
    "到去来上下里用做看点号年月日时分元台一二三四五六七八九十两百千万几多少些每最更只先后前已将如果没无各该此"
    "后当才刚别写按定记放走等拿问帮发送改换成搬住吃喝]+"
)
_STOP_WORDS = """
a about again all also am an and any are as assistant at back be been being bit both but by can could did
do does don't each even few for from get going got had has have having he her here him his how i i'm i've
if in into is it it's its just know let like lot make many may me might mine more most much must my need
new no nor not now of off ok okay on once one only or other our ours out over own please really same shall
she should since so some still such sure than thank thanks that the their them then there these they thing
things think this those to too tool two under up us very want was way we well were what when where which
who whom whose why will with without would would've yes you your yours
"""
_STOP = frozenset(_STOP_WORDS.split())


def keywords_of(texts: Iterable[str]) -> list[str]:
    """At most 12: what occurs often comes first, then what is long, then what came first."""
    counts: dict[str, int] = {}
    shown: dict[str, str] = {}
    parts: dict[str, int] = {}
    runs: list[str] = []
    for text in texts:
        for run in _WORD.findall(text):
            if run[0] < "\u2e80":
                key = run.lower()
                if len(key) < (4 if key[0].isdigit() else 3) or key in _STOP:
                    continue
                counts[key] = counts.get(key, 0) + 1
                shown.setdefault(key, run)
                continue
            for word in _BINDS.split(run):
                if 1 < len(word) <= 6:
                    runs.append(word)
                for size in (2, 3, 4):
                    for start in range(len(word) - size + 1):
                        part = word[start : start + size]
                        parts[part] = parts.get(part, 0) + 1
    # A run that occurs once is a word of its own only as a whole.
    for word in [*runs, *(part for part, times in parts.items() if times > 1)]:
        counts[word] = max(parts.get(word, 1), counts.get(word, 0))
        shown[word] = word
    order = {key: place for place, key in enumerate(counts)}
    ranked = sorted(counts, key=lambda key: (-counts[key] * (1.6 if len(key) > 2 else 1.0), -len(key), order[key]))
    chosen: list[str] = []
    for key in ranked:
        if len(chosen) == MOST:
            break
        # Runs overlap: what shares most of its characters with a better one says nothing new.
        if not any(key in other or other in key or _overlap(key, other) for other in chosen):
            chosen.append(key)
    return [shown[key] for key in chosen]


def _overlap(a: str, b: str) -> bool:
    """Whether two runs are the same stretch, moved by a character or two."""
    return a[0] >= "\u2e80" and any(
        b.startswith(a[i:]) or a.startswith(b[i:]) for i in range(1, 3) if len(a) > i + 1 and len(b) > i + 1
    )
