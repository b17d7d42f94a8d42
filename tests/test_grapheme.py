"""Grapheme cluster boundaries, against \\X of the `regex` package and against vectors written by hand from UAX #29."""

from __future__ import annotations

import random
import re
from bisect import bisect_left, bisect_right
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from harmony_mem._core import grapheme_ceil, grapheme_floor

TABLE = Path(__file__).resolve().parent.parent / "csrc" / "grapheme_table.h"

# The clusters of a text, one string each.
VECTORS = [
    [],
    ["a", "b"],
    ["a", "\r\n", "\n", "\r"],
    ["e\u0301", "x"],
    ["a\u0903", "\u0600b"],
    ["\u1100\u1160\u11a8", "\u1100\uac00\u11a8", "\uac01", "\u1160"],
    ["\u0915\u094d\u0924", "\u0915", "\u0924"],
    ["\u0915\u094d\u200d\u0937\u093f", "a\u094d\u0924"],
    ["\u0915\u094d\u200c", "\u0924"],
    ["\u25cc\u094d\u0915"],  # one cluster since Unicode 18
    ["\u1cf5\u0995"],
    ["\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", "\U0001f44d\U0001f3fd"],
    ["\U0001f469\u200d\u200d", "\U0001f469"],
    ["a\u200d", "\U0001f469"],
    ["\U0001f1e8\U0001f1f3", "\U0001f1e8\U0001f1f3", "\U0001f1e8", "a"],
    ["\ud83d", "\ude00", "\ud800\u0308"],
    ["\U0010ffff\u0301", "\U000e0fff", "\U000e1000"],
]

# A family, a decomposed letter, a flag, a skin tone: what a cut at a plain index takes apart.
MIXED = ["a", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", "e\u0301", "\U0001f1e8\U0001f1f3"]
MIXED += ["\U0001f44d\U0001f3fd", "\u4e2d"]

PROPERTIES = ["GCB=CR", "GCB=LF", "GCB=Control", "GCB=Extend", "GCB=ZWJ", "GCB=RI", "GCB=Prepend", "GCB=SpacingMark"]
PROPERTIES += ["GCB=L", "GCB=V", "GCB=T", "GCB=LV", "GCB=LVT", "GCB=Other", "Cs", "Han"]
PROPERTIES += ["Extended_Pictographic", "InCB=Consonant", "InCB=Linker", "InCB=Extend"]
RUNS = ["GCB=Extend", "GCB=ZWJ", "GCB=RI", "Extended_Pictographic", "InCB=Consonant", "InCB=Linker"]


def check(text: str, boundaries: list[int]) -> None:
    """`boundaries` holds 0 and the length, ascending."""
    for position in range(len(text) + 1):
        assert grapheme_floor(text, position) == boundaries[bisect_right(boundaries, position) - 1], (text, position)
        assert grapheme_ceil(text, position) == boundaries[bisect_left(boundaries, position)], (text, position)


def ends(clusters: list[str]) -> list[int]:
    result = [0]
    for cluster in clusters:
        result.append(result[-1] + len(cluster))
    return result


def clusters_of_regex(text: str) -> list[str]:
    """What \\X finds; skips the test when the package is of another Unicode version than the table."""
    table = re.search(r'HM_GRAPHEME_UNICODE "([\d.]+)"', TABLE.read_text(encoding="utf-8"))
    package = re.search(r"supports Unicode (\d+\.\d+\.\d+)", distribution("regex").read_text("METADATA") or "")
    assert table is not None
    if package is None or package[1] != table[1]:
        pytest.skip(f"the table has Unicode {table[1]}, the regex package {package[1] if package else 'does not say'}")
    return regex.findall(r"\X", text)


@cache
def members(prop: str) -> list[str]:
    everything = "".join(map(chr, range(0x110000)))
    return regex.findall(rf"\p{{{prop}}}", everything)


@pytest.mark.parametrize("clusters", VECTORS, ids=lambda clusters: ascii("|".join(clusters)))
def test_vector(clusters: list[str]) -> None:
    check("".join(clusters), ends(clusters))


def test_mixed_text_repeated() -> None:
    clusters = MIXED * 50
    text = "".join(clusters)
    assert len(text) == 50 * 15
    check(text, ends(clusters))


def test_mixed_text_from_every_start() -> None:
    """A text that begins or ends inside a cluster: the rules see nothing outside it."""
    text = "".join(MIXED * 2)
    for start in range(len(text)):
        for end in range(start, len(text) + 1):
            check(text[start:end], ends(clusters_of_regex(text[start:end])))


@pytest.mark.parametrize("text", ["", "ASCII\r\n", "caf\xe9 \xa9\xad\x85", "\u4e2d\u6587e\u0301", "\U0001f600\ud800"])
def test_every_form_of_str(text: str) -> None:
    """One, two and four bytes to a code point."""
    check(text, ends(clusters_of_regex(text)))


def test_seeded_strings() -> None:
    """Each string draws from a few classes, so that the rules that look back come up often."""
    chance = random.Random(29)
    for number in range(6000):
        classes = chance.sample(PROPERTIES, 3) if number % 3 else RUNS
        text = "".join(chance.choice(members(chance.choice(classes))) for _ in range(chance.randint(0, 24)))
        check(text, ends(clusters_of_regex(text)))


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(exclude_categories=[]) | st.sampled_from("".join(MIXED) + "\u0915\u094d\r\n")))
def test_any_text(text: str) -> None:
    check(text, ends(clusters_of_regex(text)))


@pytest.mark.slow
def test_every_code_point() -> None:
    """Beside a letter, a pictograph, a consonant, a Hangul part and a flag; the planes in between hold nothing."""
    probes = "a?\u0308\x01\U0001f468?\u200d\U0001f468\x01\u0915\u094d?\u0915\x01"
    probes += "?\u11a8\x01\u1100?\x01\U0001f1e6?\U0001f1e6\x01"
    for first in [*range(0, 0x24000, 0x1000), *range(0xDF000, 0xE2000, 0x1000), 0x10F000]:
        text = "".join(probes.replace("?", chr(point)) for point in range(first, first + 0x1000))
        check(text, ends(clusters_of_regex(text)))


def test_long_runs() -> None:
    flags = "\U0001f1e6" * 20001
    assert grapheme_floor(flags, 20000) == 20000
    assert grapheme_floor(flags, 19999) == 19998
    assert grapheme_ceil(flags, 19999) == 20000
    marks = "a" + "\u0301" * 20000
    assert grapheme_floor(marks, 20000) == 0
    assert grapheme_ceil(marks, 1) == 20001
