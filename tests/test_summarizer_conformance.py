"""Every summariser through the conformance suite; and accept(), fit() and resolve(), which stand between any summariser
and a memory."""

from __future__ import annotations

import subprocess
import sys
import time
import unicodedata
from typing import TYPE_CHECKING, Any

import pytest

import harmony_mem as hm
from harmony_mem.errors import OptionError, SummaryError
from harmony_mem.summarizers import CallableSummarizer, Summarizer, accept, fit, resolve
from harmony_mem.types import Item, Source, Summary

from .summarizer_conformance import CHECKS, count, sources_of

if TYPE_CHECKING:
    from collections.abc import Callable


def recap(messages: list[dict[str, Any]], previous: str, target_tokens: int) -> str:
    """What a careful model might answer: the lines so far and what was said, the newest dropped without room."""
    texts = [m["content"] for m in messages if isinstance(m.get("content"), str)]
    lines = [line for text in (previous, *texts) for line in text.splitlines() if line.strip()]
    return "\n".join(f"- {line[:2000]}" for line in lines[: max(1, target_tokens)])


class Own:
    """A user's own summariser that does not derive from ours."""

    background = False
    max_input_tokens = 5000

    def summarize(
        self, sources: list[Source], previous: Summary | None, target: int, count: Callable[[str], int]
    ) -> Summary:
        items = list(previous.items) if previous else []
        for source in sources:
            text = source.message.get("content")
            if isinstance(text, str):
                items.append(Item(text[:2000], (source.seq,)))
        return Summary(items)


MAKERS: dict[str, Callable[[], Summarizer]] = {
    "extractive": lambda: resolve("extractive"),
    "callable": lambda: resolve(recap),
    "own": lambda: resolve(Own()),
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", MAKERS)
def test_conformance(name: str, check: Callable[[Callable[[], Summarizer]], None]) -> None:
    check(MAKERS[name])


class Broken(Summarizer):
    """Breaks one rule at a time, to show that the suite notices."""

    background = False

    def __init__(self, how: str) -> None:
        self.how = how
        if how == "window":
            self.max_input_tokens = 0
        if how == "background":
            self.background = None  # type: ignore[assignment]

    def summarize(self, sources: list[Source], previous: Summary | None, target_tokens: int, count: Any) -> Any:
        if self.how == "mutates" and previous is not None:
            previous.items.clear()
        if self.how == "raises":
            raise ValueError
        if self.how == "forgets":
            previous = None
        if self.how == "empty":
            return "nothing of note"
        return recap([s.message for s in sources], previous.text if previous else "", target_tokens)


@pytest.mark.parametrize(
    ("how", "caught_by"),
    [
        ("window", "declares_what_it_needs"),
        ("background", "declares_what_it_needs"),
        ("mutates", "leaves_the_previous_summary_alone"),
        ("raises", "bears_any_message"),
        ("forgets", "answers_with_the_whole_summary"),
        ("empty", "keeps_exact_values"),
    ],
)
def test_the_suite_notices(how: str, caught_by: str) -> None:
    check = next(check for check in CHECKS if check.__name__ == caught_by)
    with pytest.raises((AssertionError, ValueError)):
        check(lambda: Broken(how))


# ---------------------------------------------------------------------------------------------------- accept
@pytest.mark.parametrize("nothing", [None, "", " ", "\n\t \r\n", "\u3000", "- \n* \n", "\x00"], ids=repr)
def test_nothing_is_no_summary(nothing: object) -> None:
    assert accept(nothing, sources_of("a"), None) is None


@pytest.mark.parametrize(
    "wrong", [b"summary", 7, 1.5, True, ["a"], {"items": []}, object()], ids=lambda v: type(v).__name__
)
def test_other_answers_raise(wrong: object) -> None:
    with pytest.raises(SummaryError, match=f"not {type(wrong).__name__}"):
        accept(wrong, sources_of("a"), None)


def test_the_error_is_of_the_tree() -> None:
    assert issubclass(SummaryError, hm.HarmonyMemError)
    assert issubclass(SummaryError, ValueError)
    assert hm.SummaryError is SummaryError


def test_a_text_is_one_item_a_line_that_cites_everything() -> None:
    previous = Summary([Item("x", (1,)), Item("y", (2, 3))])
    text = "- one\n* two\n1. three\n12) four\n•five\n\n  • six  \nseven - 8. nine\n-\n2.5 litres\n-5 degrees"
    summary = accept(text, sources_of("a", "b", first=7), previous)
    assert summary is not None
    assert [item.text for item in summary.items] == [
        "one", "two", "three", "four", "five", "six", "seven - 8. nine", "2.5 litres", "-5 degrees",
    ]  # fmt: skip
    assert {item.source_seqs for item in summary.items} == {(1, 2, 3, 7, 8)}


def test_control_characters_and_half_characters_go() -> None:
    summary = accept("a\x00b\x1b[0m\tc\r\nd\u2028e\x85f \ud83d g\x7f 50\x96100", sources_of("a"), None)
    assert summary is not None
    assert [item.text for item in summary.items] == ["ab[0m\tc", "d", "e", "f \ufffd g 50 100"]


def test_ten_megabytes_cost_nothing() -> None:
    line = "用户要二十四台打印机，十一月前验收。\n"
    start = time.perf_counter()
    summary = accept(line * (10_000_000 // len(line)), sources_of("a"), None)
    assert time.perf_counter() - start < 1
    assert summary is not None
    assert 60_000 < len(summary.text) <= 65_536
    assert {item.text for item in summary.items} == {line.strip()}, "cut between lines"
    assert accept("x" * 10_000_000, sources_of("a"), None) == Summary([Item("x" * 65_536, (1,))])
    assert accept(" " * 10_000_000, sources_of("a"), None) is None


def test_a_summary_is_checked_and_copied() -> None:
    given = Summary([Item("a\nb", (1,)), Item("c", (99,)), Item("  ", (1,)), Item("d\ud800", ())], ["k\n1", " ", 3])  # type: ignore[list-item]
    summary = accept(given, sources_of("x", "y"), None)
    assert summary == Summary([Item("a b", (1,)), Item("c", (1, 2)), Item("d\ufffd", (1, 2))], ["k 1"])
    assert summary is not given
    with pytest.raises(SummaryError):
        accept(Summary(["text"]), sources_of("a"), None)  # type: ignore[list-item]
    with pytest.raises(SummaryError):
        accept(Summary([Item(5, (1,))]), sources_of("a"), None)  # type: ignore[arg-type]


def test_a_summary_without_items_is_an_answer() -> None:
    """There was nothing worth keeping: no failure, which an empty text is."""
    assert accept(Summary([]), sources_of("hello"), None) == Summary([])


def test_a_summary_of_a_million_items_is_cut() -> None:
    summary = accept(Summary([Item("ab", (1,))] * 1_000_000), sources_of("a"), None)
    assert summary is not None
    assert len(summary.items) == 65_536 // 3


# ---------------------------------------------------------------------------------------------------- fit
def lines(summary: Summary) -> list[str]:
    return [item.text for item in summary.items]


def chars(text: str) -> int:
    return len(text)


def test_what_fits_is_handed_back_as_it_is() -> None:
    summary = Summary([Item("abc", (1,)), Item("def", (2,))], ["k"])
    assert fit(summary, len("- abc\n- def"), chars) is summary


def test_whole_items_go_before_one_is_cut() -> None:
    """Of a text, whose lines all cite the same messages, the oldest lines go."""
    summary = Summary([Item(f"line number {i}", (1, 2)) for i in range(5)])
    for limit in range(15, 90):
        kept = lines(fit(summary, limit, chars))
        assert kept == lines(summary)[5 - len(kept) :]
        assert len("\n".join(f"- {line}" for line in kept)) <= limit
    assert len(lines(fit(summary, 40, chars))) == 2


def test_the_least_worth_goes_first() -> None:
    summary = Summary([Item("我花生过敏", (1,)), Item("明天再说吧", (2,)), Item("那就按这个来", (3,))])
    assert lines(fit(summary, 18, chars)) == ["我花生过敏", "那就按这个来"]
    assert lines(fit(summary, 10, chars)) == ["我花生过敏"]
    assert lines(fit(summary, 10, chars, value=lambda item: item.source_seqs[0])) == ["那就按这个来"]


def test_an_item_larger_than_the_room_does_not_push_out_the_others() -> None:
    summary = Summary([Item("short one", (1,)), Item("long " * 30, (1,)), Item("short two", (1,))])
    assert lines(fit(summary, 40, chars)) == ["short one", "short two"]


def test_one_item_that_is_too_large_is_cut() -> None:
    kept = fit(Summary([Item("abcdefghij " * 20, (1,))]), 30, chars)
    assert lines(kept) == ["abcdefghij abcdefghij…"]
    assert fit(Summary([Item("x" * 100, (1,))]), 10, chars).items[0].text == "x" * 7 + "…"


def test_no_number_is_cut_in_two() -> None:
    text = "总价一共是1,280,500.75元整，请核对"
    for limit in range(3, len(text) + 2):
        kept = fit(Summary([Item(text, (1,))]), limit, chars).items
        assert not kept or not any(char.isdigit() for char in kept[0].text) or "1,280,500.75" in kept[0].text


def test_no_character_is_cut_in_two() -> None:
    text = "e\u0301👨‍👩‍👧‍👦🇨🇳👍🏽中" * 3
    starts = {0}  # where a cut may fall: not before a mark, a joiner, a second flag letter or a skin tone
    for i, char in enumerate(text):
        joined = unicodedata.combining(char) or char == "\u200d" or char in "🏽🇳" or text[i - 1 : i] == "\u200d"
        if not joined:
            starts.add(i)
    for limit in range(1, len(text) + 2):
        kept = fit(Summary([Item(text, (1,))]), limit, chars).items
        if kept:
            assert len(kept[0].text.removesuffix("…")) in starts
            assert len(f"- {kept[0].text}") <= limit


@pytest.mark.parametrize("limit", [-5, 0, 1, 2])
def test_no_room_no_items(limit: int) -> None:
    assert fit(Summary([Item("abc def", (1,)), Item("ghi", (2,))]), limit, chars).items == []


def test_a_counter_whose_costs_do_not_add_up() -> None:
    """Joining makes it dearer here: what was chosen is counted as a whole."""

    def odd(text: str) -> int:
        return len(text) + 3 * text.count("\n") ** 2

    summary = Summary([Item(f"line {i}", (1,)) for i in range(12)])
    for limit in range(10, 150, 7):
        kept = fit(summary, limit, odd)
        assert odd("\n".join(f"- {line}" for line in lines(kept))) <= limit
        assert kept.items


def test_a_summariser_that_returns_all_it_was_given_stays_in_its_room() -> None:
    summarizer = resolve(lambda messages, previous, target: "\n".join([previous, *(m["content"] for m in messages)]))
    previous: Summary | None = None
    for i in range(200):
        sources = sources_of(f"turn {i} " + "word " * (i % 38), first=i + 1)
        answer = accept(summarizer.summarize(sources, previous, 100, count), sources, previous)
        assert answer is not None
        previous = fit(answer, 100, count)
        assert count("\n".join(f"- {line}" for line in lines(previous))) <= 100
        assert lines(previous)[-1].startswith(f"turn {i}")


# ---------------------------------------------------------------------------------------------------- resolve
def test_names() -> None:
    assert resolve(None).background is False
    assert type(resolve("extractive")) is type(resolve(None))
    with pytest.raises(OptionError, match="did you mean 'extractive'"):
        resolve("extractiv")
    with pytest.raises(OptionError, match="'gpt' is not known; allowed: 'extractive', a callable"):
        resolve("gpt")


@pytest.mark.parametrize("wrong", [7, b"extractive", ["extractive"], Own, object()], ids=lambda v: type(v).__name__)
def test_what_is_no_summarizer(wrong: object) -> None:
    with pytest.raises(OptionError, match=r"allowed|must be"):
        resolve(wrong)


def test_a_callable_gets_dicts_and_a_text() -> None:
    seen: list[Any] = []

    def call(messages: list[dict[str, Any]], previous: str, target_tokens: int) -> str:
        seen.append((messages, previous, target_tokens))
        return "ok"

    summarizer = resolve(call)
    assert isinstance(summarizer, CallableSummarizer)
    assert summarizer.background is True
    assert summarizer.max_input_tokens is None
    sources = sources_of("hello")
    assert summarizer.summarize(sources, None, 50, count) == "ok"
    summarizer.summarize(sources, Summary([Item("a", (1,)), Item("b", (1,))]), 60, count)
    assert seen == [
        ([{"role": "user", "content": "hello"}], "", 50),
        ([{"role": "user", "content": "hello"}], "a\nb", 60),
    ]


def test_the_window_of_a_callable() -> None:
    def call(messages: list[dict[str, Any]], previous: str, target_tokens: int) -> None:
        return None

    call.max_input_tokens = 1000  # type: ignore[attr-defined]
    assert resolve(call).max_input_tokens == 1000
    for wrong in (0, -1, 1.5, "1000", True):
        call.max_input_tokens = wrong  # type: ignore[attr-defined]
        with pytest.raises(OptionError, match="max_input_tokens"):
            resolve(call)


def test_an_object_keeps_what_it_declares() -> None:
    own = resolve(Own())
    assert (own.background, own.max_input_tokens) == (False, 5000)
    bare = resolve(type("Bare", (), {"summarize": lambda self, sources, previous, target, count: "x"})())
    assert (bare.background, bare.max_input_tokens) == (True, None)
    assert bare.summarize(sources_of("a"), None, 10, count) == "x"
    mine = Broken("nothing")
    assert resolve(mine) is mine
    with pytest.raises(OptionError, match="background"):
        resolve(type("Bad", (), {"summarize": print, "background": "yes"})())


def test_the_room_loads_no_patterns_until_a_summary_is_made() -> None:
    """`re` and the patterns cost a board memory that a session without a summary need not pay."""
    code = (
        "import sys, harmony_mem.summarizers as s; s.resolve(len); "
        "loaded = {m.rpartition('.')[2] for m in sys.modules if m.startswith('harmony_mem.summarizers.')}; "
        "print(sorted(loaded), 're' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-S", "-E", "-c", code], capture_output=True, text=True, check=False,
                          cwd=hm.__path__[0] + "/..")  # fmt: skip
    assert done.stdout.split("\n")[0] == "['base', 'text'] False", done.stderr
