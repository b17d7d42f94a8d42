"""Recall: terms, BM25 against a plain reimplementation, rewinding, decay, both rankings, filling, and bad input."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import harmony_mem.recall.index as index_module
from harmony_mem.errors import OptionError
from harmony_mem.recall import Hit, Index, checked_half_life, interleave, select, terms, texts_of
from harmony_mem.types import Source

END = 10**9
DAY = 86_400_000
LINES = [
    "我对花生过敏，点菜要避开。",
    "The booking reference is HT-2025-0917, please keep it.",
    "会议改到2026-01-05下午，地点在望京。",
    "Anna's flight leaves at 13:30 from gate B12",
    "今天天气不错，我们去公园吧。",
    "好的，没问题。",
    "Could you book a table for four people on Friday?",
    "预算上限是12,000元，不能再多了。",
    "花生酱和花生油也不行，花生会引起过敏。",
    "The weather is fine and the park is open",
]


def source(seq: int, content: Any, time: int = 0, **more: Any) -> Source:
    return Source(seq, time, {"role": "user", "content": content, **more})


def built(texts: list[str], times: list[int] | None = None) -> Index:
    index = Index()
    for i, text in enumerate(texts):
        index.add(source(i + 1, text, times[i] if times else 0))
    return index


def seqs(index: Index, query: str, **more: Any) -> list[int]:
    return [hit.seq for hit in index.search(query, **{"k": 100, "before": END, "now": 0, **more})]


# -- reference: BM25 from its formula, over lists, with nothing kept


def weights(texts: list[str], query: str) -> dict[str, list[float]]:
    """For each term of the query: its part of the BM25 score of each text. k1 1.5, b 0.75, at most 63 of one term."""
    bags = []
    for text in texts:
        bag: dict[str, int] = {}
        for term in terms(text):
            bag[term] = min(63, bag.get(term, 0) + 1)
        bags.append(bag)
    lengths = [sum(bag.values()) for bag in bags]
    mean = sum(lengths) / len(texts)
    out = {}
    for term in set(terms(query)):
        n = sum(term in bag for bag in bags)
        idf = math.log((len(texts) - n + 0.5) / (n + 0.5) + 1)
        out[term] = [
            idf * bag.get(term, 0) * 2.5 / (bag.get(term, 0) + 1.5 * (0.25 + 0.75 * length / mean)) if n else 0.0
            for bag, length in zip(bags, lengths, strict=True)
        ]
    return out


def plain_scores(texts: list[str], query: str) -> list[float]:
    return [math.fsum(column) for column in zip(*weights(texts, query).values(), strict=True)] or [0.0] * len(texts)


def near_scores(texts: list[str], query: str) -> list[float]:
    """A term counts where it stands, 0.7 and 0.5 in the two after it, 0.5 and 0.3 in the two before; best once."""
    share = {0: 1.0, 1: 0.7, 2: 0.5, -1: 0.5, -2: 0.3}
    out = [0.0] * len(texts)
    for column in weights(texts, query).values():
        for i in range(len(texts)):
            out[i] += max(column[j] * share[i - j] for j in range(len(texts)) if i - j in share)
    return out


def by_score(scores: list[float]) -> list[int]:
    """1-based, highest first, newest first among equals; scores that differ by rounding alone are equal."""
    return sorted((i for i, s in enumerate(scores, 1) if s > 0), key=lambda i: (-round(scores[i - 1], 9), -i))


def conversation(seed: int, length: int) -> list[str]:
    """Lines of few words each, so that terms are shared, repeated and rare."""
    rng = random.Random(seed)
    words = [
        "花生",
        "过敏",
        "会议",
        "预算",
        "hotel",
        "garden",
        "flight",
        "B12",
        "2026-01-05",
        "公园",
        "好的",
        "的",
        "the",
    ]
    return [" ".join(rng.choice(words) for _ in range(rng.randrange(9))) for _ in range(length)]


# -- terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("   \n\t，。！", []),
        ("花生过敏", ["花生", "生过", "过敏"]),
        ("茶", ["茶"]),
        ("ひらがな", ["ひら", "らが", "がな"]),
        ("안녕하세요", ["안녕", "녕하", "하세", "세요"]),
        ("𠮷野家", ["𠮷野", "野家"]),
        ("Bakes baked BAKING bake", ["bak"] * 4),
        ("studies study studied", ["study"] * 3),
        ("running address bus", ["run", "address", "bus"]),
        ("I'm at Anna's, it’s what we don't know", ["anna", "know"]),
        ("rock'n'roll O'Neill", ["rock", "n", "roll", "o", "neill"]),
        ("2026-01-05", ["2026", "1", "5", "20260105"]),
        ("2026/01/05", ["2026", "1", "5", "20260105"]),
        ("13:30 4.5", ["13", "30", "13:30", "4", "5", "4.5"]),
        ("138-0013-8000", ["138", "0013", "8000", "13800138000"]),
        ("A-1203 a1203", ["1203", "a1203", "a1203"]),
        ("12,000", ["12", "000", "12000"]),
        ("me@example.com", ["exampl", "com", "me@example.com"]),
        ("ＡＢＣ１２３", ["abc123"]),
        ("用WiFi密码maple7731", ["wifi", "maple7731", "用", "密码"]),
        ("Кошка спит", ["кошка", "спит"]),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize("text", ["the of and is you", "的了吗", "这是什么", "What is it? It's the", "我 的 the"])
def test_stop_words_alone_find_nothing(text: str) -> None:
    index = built([*LINES, text])
    assert seqs(index, text) == []
    assert index.ranked(text, before=END, now=0) == []


def test_a_code_is_found_however_it_is_written() -> None:
    index = built(LINES)
    for query, seq in [
        ("2026/01/05", 3),
        ("20260105", 3),
        ("2026年1月5日", 3),
        ("HT20250917", 2),
        ("ｈｔ-2025-0917", 2),
        ("12000", 8),
        ("b12", 4),
    ]:
        assert seqs(index, query)[:1] == [seq], query


def test_one_endless_word_is_no_endless_term() -> None:
    assert {len(term) for term in terms("x" * 1_000_000)} == {64}
    assert max(len(term) for term in terms("9.8" * 100_000)) == 64


def test_of_a_long_text_both_ends_are_read() -> None:
    text = "开头密码 " + "填充文字 " * 20_000 + " 结尾编号"
    found = set(terms(text))
    assert {"密码", "编号", "填充"} <= found
    assert len(terms(text)) <= 16_384


# -- what of a message is indexed


def test_texts_of_a_message() -> None:
    call = {"id": "call_77", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Lhasa"}'}}
    parts = [{"type": "text", "text": "看图"}, {"type": "image_url", "image_url": {"url": "http://zzz"}}, "plain"]
    index = Index()
    index.add(source(1, parts))
    index.add(Source(2, 0, {"role": "assistant", "content": None, "tool_calls": [call]}))
    index.add(Source(3, 0, {"role": "tool", "tool_call_id": "call_77", "content": "晴天，19度"}))
    assert seqs(index, "看图") == [1]
    assert seqs(index, "plain") == [1]
    assert seqs(index, "zzz") == []
    assert seqs(index, "Lhasa weather") == [2]
    assert seqs(index, "call_77 call77") == []
    assert seqs(index, "晴天 19") == [3]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"content": 7}, []),
        ({"content": [1, None, {"text": 2}]}, []),
        ({"content": None, "tool_calls": "no list"}, []),
        (
            {"content": "a", "tool_calls": [None, {"id": "x"}, {"id": "x", "custom": {"input": "SELECT 1"}}]},
            ["a", "input", "SELECT 1"],
        ),
        (
            {"tool_calls": [{"id": "x", "function": {"name": "f", "arguments": {"n": 12, "on": True, "l": ["p"]}}}]},
            ["f", "n", "12", "on", "l", "p"],
        ),
    ],
)
def test_texts_of_odd_messages(message: dict[str, Any], expected: list[str]) -> None:
    got = texts_of(message)
    assert [text for text in got if text not in ("arguments", "name", "custom")] == expected


# -- scores


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("query", ["花生过敏", "garden hotel 预算", "2026-01-05 B12", "会议 会议 flight"])
def test_scores_are_bm25(seed: int, query: str) -> None:
    texts = conversation(seed, 40)
    expected = plain_scores(texts, query)
    hits = built(texts).search(query, k=100, before=END, now=0)
    assert {hit.seq: hit.score for hit in hits} == pytest.approx(
        {i: s for i, s in enumerate(expected, 1) if s > 0}, rel=1e-12
    )
    assert [hit.seq for hit in hits] == by_score(expected)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("query", ["花生过敏", "garden hotel 预算", "2026-01-05 B12"])
def test_ranked_takes_plain_and_neighbour_aware_rankings_in_turn(seed: int, query: str) -> None:
    texts = conversation(seed, 40)
    expected = interleave((by_score(plain_scores(texts, query)), by_score(near_scores(texts, query))))
    assert built(texts).ranked(query, before=END, now=0) == expected


def test_statistics_by_hand() -> None:
    index = built(["苹果香蕉", "苹果", "梨子"])  # lengths 3, 1, 1
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    expected = idf * 2.5 / (1 + 1.5 * (0.25 + 0.75 * 1 / (5 / 3)))
    (hit,) = index.search("苹果", k=1, before=END, now=0)
    assert hit.seq == 2
    assert hit.score == pytest.approx(expected)
    assert hit == Hit(2, hit.score) != Hit(1, hit.score)


def test_a_term_counts_63_times_at_most() -> None:
    texts = ["苹果 " * 62, "苹果 " * 63, "苹果 " * 500, "梨子"]
    expected = plain_scores(texts, "苹果")
    hits = built(texts).search("苹果", k=9, before=END, now=0)
    assert {hit.seq: hit.score for hit in hits} == pytest.approx(dict(enumerate(expected[:3], 1)), rel=1e-12)
    assert expected[1] == expected[2]


def test_equal_scores_newest_first_and_k() -> None:
    index = built(["红色的车"] * 5)
    assert seqs(index, "红色") == [5, 4, 3, 2, 1]
    assert seqs(index, "红色", k=2) == [5, 4]
    assert seqs(index, "红色", k=0) == []
    assert index.ranked("红色", before=END, now=0)[0] == 5


def test_before_and_exclude() -> None:
    index = built(["红色的车"] * 6)
    assert seqs(index, "红色", before=4) == [3, 2, 1]
    assert seqs(index, "红色", before=1) == []
    assert seqs(index, "红色", exclude={5, 2}, k=3) == [6, 4, 3]
    assert max(index.ranked("红色", before=4, now=0)) == 3


def test_the_answer_beside_the_name_is_recalled() -> None:
    """The answer repeats nothing of the question's name; plain search alone can't see it."""
    texts = ["请问花园酒店怎么样？", "单人间320元，含早餐。"] + [f"第{i}个闲聊话题，随便说说。" for i in range(40)]
    index = built(texts)
    assert 2 not in seqs(index, "花园酒店多少钱")
    assert index.ranked("花园酒店多少钱", before=END, now=0)[:2] == [1, 2]


def test_mixed_languages() -> None:
    index = built(LINES)
    assert seqs(index, "花生过敏") == [1, 9]
    assert seqs(index, "Which flights leave from gate b12?")[0] == 4
    assert seqs(index, "booking reference 编号")[0] == 2
    assert seqs(index, "预算 budget")[0] == 8


# -- decay


def test_decay_halves_the_half_that_it_may_take() -> None:
    index = built(["红色的车"] * 4, times=[-10_000 * DAY, 70 * DAY, 80 * DAY, 200 * DAY])
    hits = {hit.seq: hit.score for hit in index.search("红色", k=9, before=END, now=90 * DAY, half_life=10.0 * DAY)}
    base = index.search("红色", k=1, before=END, now=0)[0].score
    assert {seq: score / base for seq, score in hits.items()} == pytest.approx({4: 1.0, 3: 0.75, 2: 0.625, 1: 0.5})


def test_decay_orders_both_rankings_but_buries_nothing() -> None:
    index = built(["红色红色红色", "别的事情", "红色的车"], times=[0, 1, 1000 * DAY])
    assert seqs(index, "红色") == [1, 3]
    assert seqs(index, "红色", now=1000 * DAY, half_life=DAY) == [3, 1]
    assert index.ranked("红色", before=END, now=1000 * DAY, half_life=DAY)[0] == 3


@pytest.mark.parametrize("half_life", [0, -1, 0.0, math.nan, -math.inf, "1", True, b"x"])
def test_a_half_life_that_is_none(half_life: Any) -> None:
    index = built(LINES)
    for call in (
        lambda: index.search("花生", k=1, before=END, now=0, half_life=half_life),
        lambda: index.ranked("花生", before=END, now=0, half_life=half_life),
        lambda: checked_half_life(half_life),
    ):
        with pytest.raises(OptionError, match="half_life"):
            call()


@pytest.mark.parametrize("half_life", [5e-324, 1, 10**400, math.inf])
def test_extreme_half_lives_stay_in_bounds(half_life: float) -> None:
    index = built(["红色的车"] * 2, times=[0, 10**15])
    old = index.search("红色", k=9, before=END, now=10**15, half_life=half_life)[-1]
    full = index.search("红色", k=9, before=END, now=0)[-1]
    assert 0.5 <= old.score / full.score <= 1.0


# -- change


def state(index: Index, queries: list[str]) -> list[Any]:
    out: list[Any] = [len(index), index.last_seq, index.weight]
    for query in queries:
        out.append(index.search(query, k=100, before=END, now=0))
        out.append(index.ranked(query, before=END, now=0))
    return out


QUERIES = ["花生过敏", "hotel garden", "预算 2026-01-05", "B12 公园 the"]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.tuples(st.sampled_from(["add", "rewind"]), st.integers(0, 12)), max_size=25))
def test_incremental_is_rebuilt_from_scratch(seed: int, steps: list[tuple[str, int]]) -> None:
    """However messages come and are rewound, the index is the one that only ever saw those that are left."""
    texts = iter(conversation(seed, 25 * 12))
    index, kept, seq = Index(), [], 0
    for what, amount in steps:
        if what == "add":
            for _ in range(amount):
                seq += 1
                kept.append(source(seq, next(texts)))
                index.add(kept[-1])
        else:
            index.remove_after(seq - amount)
            kept = [s for s in kept if s.seq <= seq - amount]
            if kept:
                index.add(source(kept[-1].seq, "花生花生花生"))  # there already: a no-op
    fresh = Index()
    for s in kept:
        fresh.add(s)
    got, expected = state(index, QUERIES), state(fresh, QUERIES)
    assert got[0] == expected[0]
    assert got[2:] == expected[2:]


def test_remove_after_everything_and_nothing() -> None:
    index = built(LINES)
    before = state(index, QUERIES)
    index.remove_after(10)
    assert state(index, QUERIES) == before
    index.remove_after(0)
    assert (len(index), index.last_seq, index.weight) == (0, 0, 0)
    assert seqs(index, "花生") == []
    index.add(source(1, "花生"))
    assert seqs(index, "花生") == [1]


def test_adding_again_is_a_no_op_and_gaps_are_fine() -> None:
    index = Index()
    for seq in (3, 7, 7, 5, 20):
        index.add(source(seq, "红色的车"))
    assert seqs(index, "红色") == [20, 7, 3]
    assert index.last_seq == 20
    index.remove_after(7)
    assert index.last_seq == 7


def test_clear() -> None:
    index = built(LINES)
    index.clear()
    assert state(index, QUERIES) == state(Index(), QUERIES)


@pytest.mark.parametrize("limit", [1, 2, 5, 9, 11, 400])
def test_remove_before_hides_at_once_and_sweeps_later(limit: int) -> None:
    texts = conversation(3, 10)
    index = built(texts)
    index.remove_before(limit)
    assert len(index) == max(0, 11 - limit)
    for query in QUERIES:
        assert all(seq >= limit for seq in (*seqs(index, query), *index.ranked(query, before=END, now=0)))
    assert index.last_seq == 10
    index.add(source(11, "花生"))
    assert 11 in seqs(index, "花生")
    if limit == 9:  # more than half is gone: what is left is as if nothing else had been
        fresh = Index()
        for seq in (9, 10):
            fresh.add(source(seq, texts[seq - 1]))
        fresh.add(source(11, "花生"))
        assert state(index, QUERIES) == state(fresh, QUERIES)


def test_a_rewind_to_what_was_forgotten() -> None:
    index = built(["红色的车"] * 10)
    index.remove_before(4)
    index.remove_after(2)
    assert (len(index), index.last_seq, seqs(index, "红色")) == (0, 2, [])
    index.add(source(11, "红色的车"))
    assert (len(index), seqs(index, "红色")) == (1, [11])


def test_forgetting_the_oldest_all_along_stays_small() -> None:
    index, most = Index(), 0
    for seq in range(1, 3001):
        index.add(source(seq, f"第{seq}号 item{seq}"))
        index.remove_before(seq - 49)
        most = max(most, index.weight)
    assert len(index) == 50
    assert most < 100 * 1200
    assert seqs(index, "item2960") == [2960]
    index.remove_after(2970)
    assert len(index) == 20
    assert seqs(index, "item2971") == []


# -- bounded work


@pytest.fixture(scope="module")
def large() -> Index:
    index = Index()
    rng = random.Random(5)
    for seq in range(1, 100_001):
        index.add(
            source(seq, f"好的地方{chr(0x4E00 + rng.randrange(3000))}{chr(0x4E00 + rng.randrange(3000))} n{seq}", seq)
        )
    return index


def test_work_is_bounded_at_100_000_messages(large: Index) -> None:
    limit = index_module.MAX_POSTINGS
    for query in ("好的地方", "地方 n500", "".join(map(chr, range(0x4E00, 0x5600))) + "好的地方", "好的地方" * 100_000):
        large.search(query, k=5, before=END, now=0)
        assert 0 < large.touched <= limit
        assert len(large.ranked(query, before=END, now=0)) <= 2 * index_module.MAX_RANKED
        assert large.touched <= limit


def test_a_frequent_term_does_not_hide_a_rare_one(large: Index) -> None:
    assert seqs(large, "好的地方 n500", k=1) == [500]
    assert large.ranked("好的地方 n500", before=END, now=0)[0] == 500
    assert seqs(large, "好的地方", k=3, before=50_000)  # newest of what is allowed, not newest of all
    assert max(seqs(large, "好的地方", before=50_000)) == 49_999


def test_a_query_reads_the_rarest_terms_first(large: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "MAX_POSTINGS", 3)
    assert set(seqs(large, "好的地方 n500 n70000")) == {500, 70_000, 100_000}
    assert large.touched == 3


def test_memory_a_message(large: Index) -> None:
    assert large.weight / len(large) < 300


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("花生" * 350_000, True),
        ("x" * 1_000_000, False),
        ("的了吗" * 350_000, False),
        ("the of " * 150_000, False),
        ("\x00\ud800\U0010ffff" * 1000, False),
        ("".join(map(chr, range(0x20000, 0x24000))), False),
    ],
)
def test_queries_of_a_megabyte(query: str, found: bool) -> None:
    index = built(LINES)
    assert bool(seqs(index, query)) is found
    assert bool(index.ranked(query, before=END, now=0)) is found


def test_a_message_of_ten_megabytes_costs_what_its_ends_cost() -> None:
    index = Index()
    rng = random.Random(1)
    body = "".join(chr(0x4E00 + rng.randrange(20_000)) for _ in range(100_000)) * 30
    index.add(source(1, body))
    assert index.weight < 16_384 * 150
    assert seqs(index, body[:40]) == [1]


# -- filling


def test_select_takes_by_rank_and_gives_back_in_order() -> None:
    prices = {1: 10, 2: 40, 3: 5, 4: 30, 5: 10}
    asked: list[int] = []

    def cost(seq: int) -> int:
        asked.append(seq)
        return prices[seq]

    assert select([5, 4, 2, 1, 3], cost, 55) == [1, 3, 4, 5]
    assert asked == [5, 4, 2, 1, 3]
    assert select([5, 5, 4], cost, 55) == [4, 5]


@pytest.mark.parametrize(("misses", "expected"), [(1, []), (3, []), (4, [9]), (30, [9])])
def test_select_stops_after_misses(misses: int, expected: list[int]) -> None:
    assert select([1, 2, 3, 9], lambda seq: 1 if seq == 9 else 100, 50, misses=misses) == expected


@pytest.mark.parametrize("room", [0, -5])
def test_select_without_room(room: int) -> None:
    cost: Callable[[int], int] = lambda seq: pytest.fail("no cost is asked for when nothing can be taken")  # noqa: E731
    assert select([1, 2], cost, room) == []


def test_interleave() -> None:
    assert interleave(([1, 2, 3], [2, 4], [])) == [1, 2, 4, 3]
    assert interleave(()) == []
