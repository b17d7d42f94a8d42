"""Writes csrc/grapheme_table.h: the class of every code point that the rules of csrc/grapheme.c tell apart.

    python csrc/unicode/generate_grapheme.py            # writes the table
    python csrc/unicode/generate_grapheme.py --check    # exits with 1 when the table in the repository is another one

The source is the `regex` package: its \\p{GCB=...}, \\p{InCB=...} and \\p{Extended_Pictographic} give the classes, and
its \\X then proves them. Every code point is put into PROBES; the boundaries that \\X finds there have to be those of
the first code point of the same class, and no two classes may have the same boundaries. So the table holds what \\X
does, whatever the property names say. The Unicode version is the one that the package states in its description.

Since Unicode 18 rule GB9c reads `Linker Extend* x Consonant`; up to 17 it also asked for a consonant before the linker.
grapheme.c has the newer rule, and a package with the older one is refused.
"""

from __future__ import annotations

import argparse
import re
import sys
from array import array
from importlib.metadata import distribution, version
from pathlib import Path

import regex

TARGET = Path(__file__).resolve().parent.parent / "grapheme_table.h"
CODE_POINTS = 0x110000
LOW_LIMIT = 0x20000  # planes 0 and 1 are one range of the table
HIGH_START = 0xE0000  # tags and variation selectors are the other one
HIGH_LIMIT = 0xE1000

# Name in C and the pattern of one member. The first pattern that matches gives the class.
CLASSES = [
    ("OTHER", r"(?!)"),  # what no other pattern takes
    ("CR", r"\p{GCB=CR}"),
    ("LF", r"\p{GCB=LF}"),
    ("CONTROL", r"\p{GCB=Control}"),
    ("ZWJ", r"\p{GCB=ZWJ}"),
    ("LINKER", r"(?=\p{InCB=Linker})\p{GCB=Extend}"),
    ("EXTEND", r"(?=\p{InCB=Extend})\p{GCB=Extend}"),
    ("NON_JOINER", r"(?=\p{InCB=None})\p{GCB=Extend}"),
    ("SPACING", r"\p{GCB=SpacingMark}"),
    ("PREPEND", r"\p{GCB=Prepend}"),
    ("STACKER", r"(?=\p{InCB=Linker})\p{GCB=Other}"),
    ("CONSONANT", r"(?=\p{InCB=Consonant})\p{GCB=Other}"),
    ("PICTOGRAPH", r"(?=\p{Extended_Pictographic})\p{GCB=Other}"),
    ("REGIONAL", r"\p{GCB=Regional_Indicator}"),
    ("L", r"\p{GCB=L}"),
    ("V", r"\p{GCB=V}"),
    ("T", r"\p{GCB=T}"),
    ("LV", r"\p{GCB=LV}"),
    ("LVT", r"\p{GCB=LVT}"),
]
REMARKS = {
    "LINKER": "Extend, and a linker of GB9c",
    "EXTEND": "Extend, and transparent to GB9c",
    "NON_JOINER": "Extend, but it ends the reach of a linker: U+200C",
    "STACKER": "a linker of GB9c that is no Extend",
    "CONSONANT": "what a linker joins to itself",
    "PICTOGRAPH": "Extended_Pictographic",
}

# `?` stands for the code point in question; U+0001 is a Control, so one probe does not reach into the next.
KA, LINK, MAN, ZWJ, FLAG, MARK = "\u0915", "\u094d", "\U0001f468", "\u200d", "\U0001f1e6", "\u0308"
PROBES = "\x01".join(
    [
        *("?a", "a?", f"?{MARK}", "\u0600?", "\r?", "?\n"),
        *("?\u1100", "?\u1160", "?\u11a8", "\u1100?", "\u1160?", "\u11a8?"),
        *(f"?{FLAG}", f"{FLAG}?{FLAG}", f"{MAN}{ZWJ}?", f"?{ZWJ}{MAN}", f"{MAN}?{MAN}", f"{MAN}?{ZWJ}{MAN}"),
        *(f"{LINK}?", f"?{KA}", f"?{ZWJ}{KA}", f"{LINK}?{KA}", f"?{LINK}{KA}", ""),
    ]
)


def unicode_version() -> str:
    found = re.search(r"supports Unicode (\d+\.\d+\.\d+)", distribution("regex").read_text("METADATA") or "")
    if found is None:
        sys.exit("this regex package does not state its Unicode version")
    return found[1]


def classify() -> bytearray:
    """The class of each code point, by property."""
    everything = "".join(map(chr, range(CODE_POINTS)))
    classes = bytearray(CODE_POINTS)
    for number in range(len(CLASSES) - 1, -1, -1):  # an earlier class overwrites a later one
        for found in regex.finditer(f"(?:{CLASSES[number][1]})+", everything):
            classes[found.start() : found.end()] = bytes([number]) * (found.end() - found.start())
    return classes


def prove(classes: bytearray) -> None:
    """Exits unless \\X treats all members of a class alike and each class in its own way."""
    if len(regex.findall(r"\X", f"\u25cc{LINK}{KA}")) != 1:
        sys.exit("this regex package has the rule GB9c of Unicode 17 or older; grapheme.c has the one of Unicode 18")
    width, batch = len(PROBES), 4096
    behaviour: dict[int, bytes] = {}
    for first in range(0, CODE_POINTS, batch):
        text = "".join(PROBES.replace("?", chr(point)) for point in range(first, first + batch))
        boundary = bytearray(len(text) + 1)
        for found in regex.finditer(r"\X", text):
            boundary[found.start()] = 1
        for offset in range(batch):
            seen = bytes(boundary[offset * width : (offset + 1) * width])
            if behaviour.setdefault(classes[first + offset], seen) != seen:
                sys.exit(f"U+{first + offset:04X} does not behave as {CLASSES[classes[first + offset]][0]}")
    if len(behaviour) != len(CLASSES):
        sys.exit(f"classes without a member: {set(range(len(CLASSES))) - behaviour.keys()}")
    if len(set(behaviour.values())) != len(CLASSES):
        sys.exit("two classes behave alike")


def split(classes: bytearray, size: int) -> tuple[int, int, array[int], bytearray]:
    """The two-stage table for blocks of `size`: end of the low range, size of the high one, index, blocks."""
    low = max(point for point in range(LOW_LIMIT) if classes[point]) // size * size + size
    high = max(point for point in range(HIGH_START, HIGH_LIMIT) if classes[point]) // size * size + size - HIGH_START
    if any(classes[low:HIGH_START]) or any(classes[HIGH_START + high :]):
        sys.exit("a code point outside the two ranges has a class")
    index, blocks, seen = array("H"), bytearray(), dict[bytes, int]()
    for start in [*range(0, low, size), *range(HIGH_START, HIGH_START + high, size)]:
        block = bytes(classes[start : start + size])
        if block not in seen:
            seen[block] = len(seen)
            blocks += block
        index.append(seen[block])
    return low, high, index, blocks


def rows(values: array[int] | bytearray) -> str:
    lines, line = [], "    "
    for value in values:
        item = f"{value},"
        if len(line) + len(item) > 120:
            lines.append(line)
            line = "    "
        line += item
    return "\n".join([*lines, line])


def render(classes: bytearray) -> str:
    def weight(size: int) -> int:
        _, _, index, blocks = split(classes, size)
        return len(index) * (1 if max(index) < 256 else 2) + len(blocks)

    size = min((1 << shift for shift in range(4, 10)), key=weight)
    low, high, index, blocks = split(classes, size)
    names = []
    for number, (name, _) in enumerate(CLASSES):
        remark = f" /* {REMARKS[name]} */" if name in REMARKS else ""
        names.append(f"    GC_{name} = {number},{remark}")
    return "\n".join(
        [
            "/* grapheme_table.h - private, generated by csrc/unicode/generate_grapheme.py; do not edit.",
            " *",
            f" * Unicode {unicode_version()}, as the Python package regex {version('regex')} has it.",
            f" * Two stages: the block of {size} code points gives a row, the row the class; {weight(size)} bytes. */",
            "#ifndef HM_GRAPHEME_TABLE_H",
            "#define HM_GRAPHEME_TABLE_H",
            "",
            "#include <stdint.h>",
            "",
            f'#define HM_GRAPHEME_UNICODE "{unicode_version()}"',
            "",
            "/* The Grapheme_Cluster_Break values, parted where another property takes part in a rule. */",
            "enum {",
            *names,
            "};",
            "",
            "/* The ranges that have a row: below GC_LOW_END, and GC_HIGH_COUNT code points from GC_HIGH_START on. */",
            f"#define GC_LOW_END 0x{low:X}u",
            f"#define GC_HIGH_START 0x{HIGH_START:X}u",
            f"#define GC_HIGH_COUNT 0x{high:X}u",
            f"#define GC_BLOCK_SHIFT {size.bit_length() - 1}",
            "",
            f"static const uint{8 if max(index) < 256 else 16}_t gc_rows[{len(index)}] = {{",
            rows(index),
            "};",
            "",
            f"static const uint8_t gc_classes[{len(blocks)}] = {{",
            rows(blocks),
            "};",
            "",
            "#endif",
            "",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes csrc/grapheme_table.h from the regex package.")
    parser.add_argument("--check", action="store_true", help="compare with the table that is there, write nothing")
    check = parser.parse_args().check
    classes = classify()
    prove(classes)
    header = render(classes)
    if not check:
        TARGET.write_text(header, encoding="utf-8")
        return 0
    if TARGET.read_text(encoding="utf-8") == header:
        return 0
    print(f"{TARGET.name} is not what the installed regex package gives")
    return 1


if __name__ == "__main__":
    sys.exit(main())
