"""The exact values of a text in one form, however they are written: numbers, amounts, dates, times, codes, mail.

`1,280`, `１２８０` and `1280.0` are one number; `二百四十` is 240; `2026年3月5日`, `2026-03-05` and `March 5, 2026` are
one date; `下午3点半`, `3:30 pm` and `15:30` are one time. A value is a tuple whose first element says what it is:

    ("num", digits)   ("pct", digits)   ("money", digits, currency)   ("fold", digits)  a Chinese discount
    ("date", year or 0, month, day)   ("month", m)   ("day", d)
    ("clock", hour, minute)  of 24 hours   ("hour", hour, minute)  half of the day unknown
    ("code", text)   ("mail", text)   ("pair", a, b)  3/5, 11-07: a date, a fraction or a range
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Value = tuple[str | int, ...]

__all__ = ["normalised", "values_of"]

_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_UNITS = {"十": 10, "百": 100, "千": 1000}
_MEASURES = (
    "元块角分厘万亿台套件个位人份次张卷箱桶辆间晚天年月日号周岁米克斤吨度层楼线条页点时秒折成倍名本支"
    "只头匹双对根颗粒瓶杯碗盒包袋批组节集期季届轮场门栋室床户家所座站段"
)
# 十分重要, 千万别, 一下: no numbers, though written with numerals.
_NO_NUMBER = re.compile(
    r"十分(?!钟|之)|千万(?![元块人台个份])|万一|万分|百般|一[下些样起直旦定切般律致半同边面共块时度点会旁带路向再概贯味应经流](?!二|三)|统一|唯一|单一|同一|第一时间|三番|四处|七上八下|乱七八糟|九牛|两者|一一|三三两两|五花八门|十全|百分百"
)
_NUMERAL = re.compile(
    rf"第?[零〇一二三四五六七八九十百千万亿两]{{1,16}}(?:点[零〇一二三四五六七八九]{{1,6}}(?=[元万亿%％度倍米公]))?(?=([{_MEASURES}])|(小时|分钟|公斤|公里|厘米|毫米|平米|刻钟|半|工作日|%|％|左右|多|余|$|[^一-鿿]))?"
)
_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {
    0x3000: 0x20,
    0x2013: 0x2D,
    0x2014: 0x2D,
    0x2212: 0x2D,
    0xFFE5: 0xA5,
}

_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: i for i, name in enumerate(_MONTH_NAMES, 1)}
_MONTH = r"(?P<{0}>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{{0,6}}\.?"
_PERIOD = r"(?:(?P<{0}>凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|今早|今晚|明早|明晚|早|晚)\s?)"
_NUM = r"\d+(?:\.\d+)?"
_CURRENCY = {
    "¥": "cny", "￥": "cny", "元": "cny", "块": "cny", "人民币": "cny", "rmb": "cny", "cny": "cny", "yuan": "cny",
    "$": "usd", "usd": "usd", "美元": "usd", "美金": "usd", "dollar": "usd", "dollars": "usd", "bucks": "usd",
    "€": "eur", "eur": "eur", "euro": "eur", "euros": "eur", "欧元": "eur",
    "£": "gbp", "gbp": "gbp", "英镑": "gbp", "pounds": "", "日元": "jpy", "jpy": "jpy",
    "港币": "hkd", "港元": "hkd", "hkd": "hkd",
}  # fmt: skip
_AFTER = r"人民币|美元|美金|欧元|英镑|日元|港币|港元|元|块|rmb|cny|usd|eur|gbp|jpy|hkd|yuan|dollars?|bucks|euros?"
_SCALES = {
    "万": 10**4,
    "亿": 10**8,
    "千": 10**3,
    "百万": 10**6,
    "千万": 10**7,
    "k": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "thousand": 10**3,
}

_TOKEN = re.compile(
    "|".join(
        (
            r"(?P<mail>[a-z0-9._%+-]{1,64}@[a-z0-9-]{1,64}(?:\.[a-z0-9-]{1,64}){0,5})",
            r"(?P<url>(?:https?://|www\.)[^\s，。；！？、）)」』”\"'<>\]}一-鿿]{1,300})",
            r"(?<![\d.])(?P<y1>\d{4})\s?(?:年\s?)(?P<m1>\d{1,2})\s?月(?:\s?(?P<d1>\d{1,2})\s?[日号]?)?",
            r"(?<![\da-z.-])(?P<y2>\d{4})(?P<s2>[-/.])(?P<m2>\d{1,2})(?P=s2)(?P<d2>\d{1,2})(?![\d-])",
            rf"(?<![a-z]){_MONTH.format('n3')}\s(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)(?:,?\s(?P<y3>(?:19|20)\d\d))?",
            rf"(?<![\d.])(?P<d4>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH.format('n4')}(?![a-z])(?:,?\s(?P<y4>(?:19|20)\d\d))?",
            r"(?<![\d.])(?P<m5>\d{1,2})\s?月(?:\s?(?P<d5>\d{1,2})\s?[日号]?)?(?!\d)",
            rf"{_PERIOD.format('p6')}?(?<![\d.:])(?P<h6>\d{{1,2}}):(?P<i6>\d{{2}})(?::\d{{2}}(?:\.\d+)?)?(?:z|[+-]\d{{2}}:?\d{{2}})?\s?(?P<a6>[ap]\.?m\b\.?)?(?![\d:])",
            rf"{_PERIOD.format('p7')}?(?<![\d.])(?P<h7>\d{{1,2}})\s?[点时](?!间|候)(?:(?P<half>半)|(?P<quarter>[13一三])刻|(?P<i7>\d{{1,2}})分?(?!\d))?",
            r"(?<![\d.])(?P<h8>\d{1,2})\s?(?P<a8>[ap]\.?m\b\.?)",
            r"(?<![\da-z.-])(?P<phone>\+\d[\d() .-]{5,18}\d|\(\d{3}\)\s?\d{3}[ -]\d{4}|\d{3,4}-\d{3,4}-\d{4}"
            r"|1\d{2} \d{4} \d{4}|0\d{2,3}-\d{7,8}|\d{3}-\d{3}-\d{4}|\d{3}\.\d{3}\.\d{4})(?![\da-z-])",
            r"(?<![\da-z.])(?P<dotted>\d+(?:\.\d+){2,}(?:/\d+)?)(?![\da-z])",
            r"(?<![\da-z./-])(?P<x9>\d{1,3})(?P<s9>[-/~])(?P<z9>\d{1,3})(?![\da-z/-])(?!\.\d)",
            r"(?<![a-z0-9])(?P<code>(?=[a-z0-9_./#-]{0,80}[a-z])(?=[a-z0-9_./#-]{0,80}\d)(?!\d+(?:\.\d+)?(?:kg|mg|g|km|cm|mm|ml|l|m|gb|mb|kb|tb|hrs?|h|mins?|min|secs?|ms|s|kw|w|v|khz|mhz|ghz|hz|dpi|px|pcs|st|nd|rd|th|am|pm|k|x|rmb|usd|cny|eur|days?|d|years?|yrs?|y|weeks?|months?)(?![a-z0-9-]))"
            r"[a-z0-9]{1,80}(?:[-_./#][a-z0-9]{1,80}){0,8})(?![a-z0-9])",
            rf"(?:(?P<cur>[¥$€£]|rmb|usd|cny|eur)\s?)?(?<!\d)(?P<num>{_NUM})"
            r"(?:\s?(?P<scale>百万|千万|万|亿|千|k(?![a-z])|thousand\b|million\b|billion\b))?"
            rf"\s?(?P<unit>%|percent\b|per cent\b|折|{_AFTER})?(?P<dayno>[日号](?![楼门院线机桌车馆厅窗段文店]))?",
        )
    )
)


def normalised(text: str) -> str:
    """Half-width, lower case, no thousands separators, Chinese numerals as digits where they are numbers for sure."""
    text = text.translate(_WIDE).lower()
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    text = re.sub(r"\b(\d{3}),(?=\d{3}\b)", r"\1", text)
    if any("一" <= char <= "鿿" for char in text):
        text = re.sub(r"百分之([零〇一二三四五六七八九十百两\d.]+)", lambda found: _digits(found.group(1)) + "%", text)
        text = _NUMERAL.sub(_arabic, text)
    return text


def _arabic(found: re.Match[str]) -> str:
    """A numeral as digits, if it is followed by a measure, has a unit and a digit, or two digits; else as it was."""
    whole = found.group()
    ordinal = whole.startswith("第")
    body = whole[1:] if ordinal else whole
    around = found.string[max(0, found.start() - 1) : found.end() + 3]
    at = found.start() - max(0, found.start() - 1)
    before, here = around[:at], around[at:]
    if _NO_NUMBER.match(here) or _NO_NUMBER.match(before + here) or not body:
        return whole
    integer, _, fraction = body.partition("点")
    bare_units = all(char in "十百千万亿" for char in integer)
    if bare_units and integer != "十" and not found.group(1):
        return whole
    counted = found.group(1) or found.group(2) is not None or ordinal
    long_enough = len(integer) > 1 and any(char in _DIGITS for char in integer)
    if not counted and not long_enough:
        return whole
    number = _digits(integer)
    if fraction:
        number += "." + "".join(str(_DIGITS[char]) for char in fraction)
    # "3点" follows a digit before it would run into it: 10五 is no number.
    return whole if before.isdigit() else ("第" if ordinal else "") + number


def _digits(numeral: str) -> str:
    """Digits of a Chinese numeral: 二百四十 -> 240, 二〇二六 -> 2026, 一万两千 -> 12000."""
    if numeral and numeral[0].isascii():
        return numeral
    if not any(char in "十百千万亿" for char in numeral):
        return "".join(str(_DIGITS[char]) for char in numeral)
    total = section = digit = 0
    last_unit = 1
    for char in numeral:
        if char in _DIGITS:
            digit = _DIGITS[char]
            if char in "零〇":
                last_unit = 10
        elif char in _UNITS:
            section += (digit or 1) * _UNITS[char]
            digit, last_unit = 0, _UNITS[char]
        else:
            unit = 10**4 if char == "万" else 10**8
            total = (total + section + digit or 1) * unit if char == "亿" else total + (section + digit or 1) * unit
            section = digit = 0
            last_unit = unit
    # 两千五 is 2500, but 两千零五 and 二十五 are what they say.
    return str(total + section + digit * (last_unit // 10 if last_unit >= 100 and digit else 1))


def plain(number: str) -> str:
    """A number without zeros that say nothing; one that begins with a zero is a code and keeps it."""
    if "." in number:
        number = number.rstrip("0").rstrip(".")
    return number


def _scaled(number: str, scale: str | None) -> str:
    """The number times 万, million, …; as text, so that no length of digits is too much."""
    if not scale or len(number) > 15:
        return plain(number)
    whole, _, fraction = number.partition(".")
    factor = _SCALES[scale]
    value = int(whole or "0") * factor * 10 ** len(fraction) + int(fraction or "0") * factor
    digits = 10 ** len(fraction)
    return (
        str(value // digits) if value % digits == 0 else plain(f"{value // digits}.{value % digits:0{len(fraction)}d}")
    )


def values_of(text: str) -> Iterator[Value]:
    """The values of a normalised text, each once where it stands."""
    for found in _TOKEN.finditer(text):
        part = found.groupdict()
        if part["mail"]:
            yield ("mail", part["mail"].rstrip("."))
        elif part["url"]:
            yield ("code", part["url"].rstrip(".,;:!?"))
        elif part["y1"] or part["y2"]:
            year, month, day = (
                (part["y1"], part["m1"], part["d1"]) if part["y1"] else (part["y2"], part["m2"], part["d2"])
            )
            yield from _date(int(year), int(month), int(day or 0))
        elif part["n3"] or part["n4"]:
            name, day, year = (
                (part["n3"], part["d3"], part["y3"]) if part["n3"] else (part["n4"], part["d4"], part["y4"])
            )
            yield from _date(int(year or 0), _MONTHS[name], int(day))
        elif part["m5"]:
            yield from _date(0, int(part["m5"]), int(part["d5"] or 0))
        elif part["h6"]:
            yield _time(int(part["h6"]), int(part["i6"]), part["p6"] or part["a6"], part["h6"][0] == "0")
        elif part["h7"]:
            minute = (
                30
                if part["half"]
                else {"1": 15, "一": 15, "3": 45, "三": 45}.get(part["quarter"] or "", 0) or int(part["i7"] or 0)
            )
            yield _time(int(part["h7"]), minute, part["p7"], False)
        elif part["h8"]:
            yield _time(int(part["h8"]), 0, part["a8"], False)
        elif part["phone"]:
            yield ("num", _phone(part["phone"]))
        elif part["dotted"]:
            yield ("code", part["dotted"])
        elif part["x9"]:
            yield ("pair", plain(part["x9"]), plain(part["z9"]))
        elif part["code"]:
            yield ("code", part["code"])
        else:
            yield _number(part)


def _number(part: dict[str, str | None]) -> Value:
    number = _scaled(part["num"] or "", part["scale"])
    unit = part["unit"] or ""
    if unit in ("%", "percent", "per cent"):
        return ("pct", number)
    if unit == "折":
        # 九二折 and 92折 are what 9.2折 is.
        return ("fold", plain(f"{number[0]}.{number[1]}") if len(number) == 2 and number.isdigit() else number)
    currency = _CURRENCY.get(unit) or _CURRENCY.get((part["cur"] or "").strip())
    if currency:
        return ("money", number, currency)
    if part["dayno"] and number.isdigit() and len(number) <= 2:
        return ("day", int(number))
    return ("num", number if len(number) < 12 or not number.isdigit() else _phone(number))


def _date(year: int, month: int, day: int) -> Iterator[Value]:
    if day:
        yield ("date", year, month, day)
    else:
        if year:
            yield ("num", str(year))
        yield ("month", month)


_MORNING = frozenset({"凌晨", "清晨", "早上", "早晨", "上午", "今早", "明早", "早"})


def _time(hour: int, minute: int, period: str | None, padded: bool) -> Value:
    if hour > 12 or padded or hour == 0:
        return ("clock", hour, minute)
    if not period:
        return ("hour", hour, minute)
    if period in _MORNING or period.startswith("a"):
        return ("clock", 0 if hour == 12 and period.startswith("a") else hour, minute)
    if period == "中午":
        return ("clock", hour + 12 if hour < 4 else hour, minute)
    if period in ("夜里", "晚上", "今晚", "明晚", "晚") and (hour < 5 or hour == 12):
        return ("clock", 0 if hour == 12 else hour, minute)
    return ("clock", hour if hour == 12 else hour + 12, minute)


def _phone(text: str) -> str:
    """Digits only, without the country code of a Chinese mobile or a US number."""
    digits = "".join(char for char in text if char.isdigit())
    if len(digits) == 13 and digits.startswith("861"):
        return digits[2:]
    if len(digits) == 11 and digits.startswith("1") and text.lstrip().startswith("+"):
        return digits[1:]
    return digits
