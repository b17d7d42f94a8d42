"""What a user of the library can rely on, one promise a test. The window rules themselves: test_window_model.py."""

from __future__ import annotations

import threading

import msgpack
import pytest

import harmony_mem as hm


def user(text: str) -> dict:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict:
    return {"role": "assistant", "content": text}


def calls(*ids: str, text: str | None = None) -> dict:
    made = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": text, "tool_calls": made}


def result(id: str, text: str) -> dict:
    return {"role": "tool", "tool_call_id": id, "content": text}


@pytest.fixture(params=["fixed", "sliding"])
def memory(request):
    with hm.create_memory(request.param, max_tokens=400, reserve_tokens=0, counter=len) as made:
        yield made


def test_messages_come_back_unchanged(memory) -> None:
    given = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": [{"type": "text", "text": "看图"}], "name": "amy", "x_custom": {"kept": [1]}},
        {"role": "assistant", "content": None, "tool_calls": calls("a")["tool_calls"], "reasoning_content": "hm"},
        {"role": "tool", "tool_call_id": "a", "content": "ok"},
        {"role": "assistant", "content": "", "tool_calls": None, "refusal": None},
    ]
    for message in given:
        memory.add(message)
    assert memory.messages() == given


def test_changing_what_was_given_or_got_changes_nothing(memory) -> None:
    message = user("before")
    memory.add(message)
    message["content"] = "after"
    memory.messages()[0]["content"] = "after"
    memory.prompt().messages[0]["content"] = "after"
    memory.messages().clear()
    assert memory.messages() == [user("before")]


def test_copy_false_hands_out_the_same_dicts(memory) -> None:
    memory.add(user("x"))
    first, second = memory.messages(copy=False), memory.messages(copy=False)
    assert first is not second
    assert first[0] is second[0]


def test_costs_are_texts_and_overhead() -> None:
    memory = hm.create_memory("sliding", counter=len, part_tokens=100)
    assert memory.token_count == 3
    memory.add({"role": "user", "content": "four", "name": "amy"})
    assert memory.token_count == 3 + 5 + 4 + 3
    memory.add(calls("a", "b", text="ok"))
    assert memory.token_count == 15 + 5 + 2 + 2 * (5 + 1 + 2)
    memory.add(result("a", "1"))
    memory.add(result("b", "22"))
    assert memory.token_count == 38 + 6 + 7
    payload = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "QUJD" * 100_000}}
    memory.add({"role": "user", "content": [{"type": "text", "text": "see"}, payload]})
    assert memory.token_count == 51 + 5 + 3 + 100
    bare = hm.create_memory("sliding", counter=len, overhead="none")
    bare.add(user("four"))
    assert bare.token_count == 4


def test_article_counter() -> None:
    count = hm.TokenCounter.named("chars/2").count
    assert [count("中" * n) for n in range(5)] == [4, 5, 5, 6, 6]  # ceil((n + 8) / 2)


def test_default_budgets() -> None:
    assert hm.create_memory("fixed").stats()["budget"] == 4096 - 800
    assert hm.create_memory("sliding").stats()["budget"] == 4096
    assert hm.create_memory("fixed", max_tokens=500).stats()["budget"] == 250
    assert hm.create_memory("sliding", preset="car").stats()["budget"] == 2048 - 400
    assert hm.create_memory("fixed", preset="car", max_tokens=900).stats()["budget"] == 500


def test_presets_reach_what_they_name() -> None:
    assert hm.create_memory("layered", preset="car")._options["keep_recent"] == 5
    assert hm.create_memory("layered", preset="home")._options["keep_recent"] == 10
    assert hm.create_memory("summary", preset="car")._options["keep_recent"] == 2
    assert hm.create_memory("fixed", preset="car")._options["max_turns"] == 5


def test_sliding_evicts_in_batches_of_whole_turns() -> None:
    memory = hm.create_memory("sliding", max_tokens=303, overlap_tokens=100, counter=len)
    for i in range(10):
        memory.add(user(f"{i:025}"))
    assert memory.token_count == 303  # ten turns of 30 and 3 of overhead: full to the token
    memory.add(user("x" * 25))
    assert memory.token_count == 183  # one more would be 333: down to at most 203, by whole turns
    assert memory.messages()[0] == user(f"{5:025}")


def test_fixed_counts_turns_and_messages() -> None:
    memory = hm.create_memory("fixed", max_turns=2)
    memory.add({"role": "system", "content": "s"})
    for i in range(5):
        memory.add(user(f"u{i}"))
        memory.add(assistant(f"a{i}"))
    assert [m["content"] for m in memory.messages()] == ["s", "u3", "a3", "u4", "a4"]
    memory.add(user("u5"))  # the turn in progress is a turn
    assert [m["content"] for m in memory.messages()] == ["s", "u4", "a4", "u5"]
    memory.configure(max_turns=None, max_messages=4)
    assert [m["content"] for m in memory.messages()] == ["s", "u4", "a4", "u5"]


def test_max_messages_keeps_anchor_and_newest_group_of_a_long_turn() -> None:
    memory = hm.create_memory("fixed", max_messages=3)
    memory.add(user("question"))
    for i in range(6):
        memory.add(calls(f"c{i}"))
        memory.add(result(f"c{i}", f"r{i}"))
    got = memory.messages()
    assert got[0] == user("question")
    assert [m.get("tool_call_id") for m in got] == [None, None, "c5"]
    memory.add(calls("p", "q"))
    memory.add(result("p", "1"))
    memory.add(result("q", "2"))
    assert len(memory.messages()) == 4  # above the limit: the newest group is whole, and the anchor stays


def test_a_long_turn_keeps_its_end_when_the_next_one_begins() -> None:
    memory = hm.create_memory("sliding", max_tokens=120, overlap_tokens=20, counter=len)
    memory.add(user("do it"))
    for i in range(6):
        memory.add(calls(f"c{i}"))
        memory.add(result(f"c{i}", "r" * 10))
    memory.add(assistant("done"))
    memory.add(user("thanks"))
    got = memory.messages()
    assert got[0] == user("do it")
    assert got[-2:] == [assistant("done"), user("thanks")]
    assert len(got) < 15


def test_pins_stay_with_the_question_of_their_turn() -> None:
    memory = hm.create_memory("sliding", max_tokens=150, overlap_tokens=40, counter=len)
    memory.add(user("allergies?"))
    pinned = memory.add(assistant("peanuts"), pinned=True)
    for i in range(20):
        memory.add(user(f"u{i:09}"))
    assert memory.messages()[:2] == [user("allergies?"), assistant("peanuts")]
    kinds = {p.kind: p for p in memory.prompt().parts}
    assert (kinds["pinned"].messages, kinds["pinned"].tokens) == (2, 27)
    memory.unpin(pinned)
    assert memory.messages()[0]["content"].startswith("u0")
    with pytest.raises(hm.HistoryError):
        memory.unpin(999)


def test_leading_system_messages_are_always_pinned(memory) -> None:
    seq = memory.add({"role": "system", "content": "rules"})
    with pytest.raises(hm.OptionError, match="leading system"):
        memory.unpin(seq)
    for i in range(50):
        memory.add(user("x" * 20))
        memory.add({"role": "system", "content": f"note {i}"})
    got = memory.messages()
    assert got[0]["content"] == "rules"
    assert "note 0" not in [m["content"] for m in got]


def test_pin_system_all() -> None:
    memory = hm.create_memory("sliding", max_tokens=300, counter=len, pin_system="all")
    memory.add(user("first"))
    memory.add({"role": "system", "content": "later rule"})
    for _ in range(30):
        memory.add(user("x" * 20))
    assert memory.messages()[:2] == [user("first"), {"role": "system", "content": "later rule"}]


def test_ids_make_adding_idempotent(memory) -> None:
    first = memory.add(user("a"), id="m1")
    assert memory.add(user("a"), id="m1") == first
    assert memory.messages() == [user("a")]
    with pytest.raises(hm.IdConflictError) as caught:
        memory.add(user("b"), id="m1")
    assert caught.value.seq == first
    memory.rewind(0)
    assert memory.add(user("b"), id="m1") == 2  # set aside: the id is free, the seq is not


def test_ids_do_not_pile_up() -> None:
    memory = hm.create_memory("sliding", max_tokens=100, counter=len, history_bytes=0)
    for i in range(10_000):
        memory.add(user("x" * 20), id=f"m{i}")
    assert len(memory._ids) < 2048
    last = memory.last_seq
    assert memory.add(user("x" * 20), id="m9999") == last


def test_rewind_gives_the_prompt_of_that_moment(memory) -> None:
    seen = {}
    memory.add({"role": "system", "content": "s"})
    for i in range(60):
        seq = memory.add(user(f"{i} " + "u" * (i % 17)))
        memory.add(assistant(f"{i} " + "a" * (i % 23)))
        seen[memory.last_seq] = memory.messages()
        del seq
    for seq in sorted(seen, reverse=True):
        memory.rewind(seq)
        assert memory.messages() == seen[seq]
    memory.rewind(0)
    assert memory.messages() == []
    assert memory.add(user("again")) == 122


def test_rewind_beyond_what_is_kept_changes_nothing() -> None:
    memory = hm.create_memory("sliding", max_tokens=100, counter=len, history_bytes=0)
    for i in range(50):
        memory.add(user(f"{i:020}"))
    before = memory.messages()
    with pytest.raises(hm.HistoryError, match="history_bytes"):
        memory.rewind(10)
    with pytest.raises(hm.HistoryError, match="newest one is 50"):
        memory.rewind(51)
    assert memory.messages() == before
    memory.rewind(0)
    assert memory.messages() == []


def test_rewind_opens_a_call_again(memory) -> None:
    memory.add(user("q"))
    call = memory.add(calls("a", "b", text="one moment"))
    memory.add(result("a", "1"))
    after_result = memory.last_seq
    late = memory.add(user("never mind"))
    assert memory.messages()[1]["tool_calls"] == calls("a")["tool_calls"]
    memory.rewind(late - 1)
    assert memory.messages()[1] == calls("a", "b", text="one moment")
    assert memory.add(result("b", "2")) == late + 1
    assert memory.stats()["open_calls"] == 0
    assert [m.get("tool_call_id") for m in memory.messages()] == [None, None, "a", "b"]
    assert (call, after_result) == (2, 3)


def test_a_dead_call_is_repaired_once_and_blocks_nothing(memory) -> None:
    memory.add(user("q"))
    memory.add(calls("a"))
    memory.add(user("hello?"))
    memory.add(result("a", "late"))  # raises nothing, is never shown
    memory.add(assistant("yes"))
    assert memory.messages() == [user("q"), user("hello?"), assistant("yes")]
    stats = memory.stats()
    assert (stats["repaired"], stats["unmatched"]) == (1, 1)


def test_stats_tell_what_was_dropped() -> None:
    memory = hm.create_memory("sliding", max_tokens=1000, overlap_tokens=0, counter=len, overhead="none")
    memory.add({"role": "system", "content": "s" * 640})
    for i in range(10):
        memory.add(user(f"{i}" * 200))
    stats = memory.stats()
    assert (stats["evicted_messages"], stats["evicted_tokens"]) == (9, 1800)
    assert memory.evicted_count == 9
    evicted = next(p for p in memory.prompt().parts if p.kind == "evicted")
    assert (evicted.messages, evicted.tokens, evicted.included) == (9, 1800, False)
    memory.add(user("x" * 500))
    memory.messages()
    memory.messages()
    stats = memory.stats()
    assert stats["shortened_messages"] == 1
    assert 140 <= stats["shortened_tokens"] <= 200


def test_fixed_tokens_are_part_of_the_budget() -> None:
    memory = hm.create_memory(
        "sliding", max_tokens=2000, reserve_tokens=400, fixed_tokens=800, counter=len, overhead="none", overlap_tokens=0
    )
    memory.add({"role": "system", "content": "s" * 300})
    for i in range(20):
        memory.add(user(f"{i:0100}"))
        assert 800 + 300 < memory.token_count <= 1600
    assert len(memory.messages()) == 1 + 5
    before = memory.messages()
    assert len(memory.messages(fixed_tokens=1000)) == 1 + 3
    assert memory.prompt(fixed_tokens=1000).token_count == 1600
    assert memory.messages() == before
    with pytest.raises(hm.BudgetError) as caught:
        memory.prompt(fixed_tokens=1400)
    assert caught.value.parts["overhead"] == 1400
    assert "overhead 1400" in str(caught.value)


def test_oversize_refuse_stores_nothing() -> None:
    memory = hm.create_memory("sliding", max_tokens=100, counter=len, oversize="refuse")
    memory.add({"role": "system", "content": "s" * 20})
    memory.add(user("u" * 20))
    before = memory.messages()
    with pytest.raises(hm.OversizeError) as caught:
        memory.add(user("x" * 80))
    assert (caught.value.budget, caught.value.needed) == (100, 3 + 25 + 85)
    memory.add(calls("a"))
    with pytest.raises(hm.OversizeError):
        memory.add(result("a", "r" * 60))
    assert memory.messages() == [*before, calls("a")]
    memory.add(result("a", "r" * 10))


def test_configure_keeps_every_message(memory) -> None:
    for i in range(60):
        memory.add(user(f"{i:015}"))
    before = memory.messages()
    other = "sliding" if memory.architecture == "fixed" else "fixed"
    memory.configure(other, max_tokens=2000, reserve_tokens=0)
    assert memory.architecture == other
    assert isinstance(memory, {"sliding": hm.SlidingWindowMemory, "fixed": hm.FixedWindowMemory}[other])
    assert len(memory.messages()) == 60
    memory.configure(max_tokens=400)
    assert memory.messages()[-1] == before[-1]
    assert memory.token_count <= 400


def test_configure_fails_without_a_trace(memory) -> None:
    for i in range(30):
        memory.add(user(f"{i:015}"))
    before = memory.messages(), memory.token_count, memory.stats()

    def broken(text: str) -> int:
        raise RuntimeError("no tokenizer")

    for options in ({"counter": broken}, {"max_tokens": 0}, {"overlap": 3}, {"counter": "gpt"}):
        with pytest.raises((hm.OptionError, hm.CounterError)):
            memory.configure(**options)
    with pytest.raises(hm.OptionError):
        memory.configure("magic")
    assert (memory.messages(), memory.token_count, memory.stats()) == before


def test_another_counter_recounts(memory) -> None:
    memory.add(user("x" * 40))
    memory.configure(counter=lambda text: 2 * len(text))
    assert memory.token_count == 3 + 5 + 80


def test_prefix_reuse_is_reported() -> None:
    memory = hm.create_memory("sliding", counter=len)
    memory.add({"role": "system", "content": "s" * 200})
    shares, previous = [], memory.messages()
    for i in range(600):
        memory.add({"role": ("user", "assistant")[i % 2], "content": f"{i} " + "x" * (40 + i * 7 % 360)})
        now = memory.messages()
        assert memory.messages() == now
        memory.messages("a query in between")
        same = 0
        while same < min(len(previous), len(now)) and previous[same] == now[same]:
            same += 1
        shares.append((3 + sum(5 + len(m["content"]) for m in now[:same])) / memory.token_count)
        previous = now
    assert memory.stats()["prefix_reuse"] == pytest.approx(sum(shares) / len(shares), abs=1e-9)
    assert sum(shares[400:]) / 200 >= 0.78


def test_an_injected_clock_and_order_by_seq(memory) -> None:
    times = iter([1767225600000, 1767225600000, 5])
    memory.configure(clock=lambda: next(times))
    for text in "abc":
        memory.add(user(text))
    assert [m["content"] for m in memory.messages()] == ["a", "b", "c"]
    assert [memory._find(i)[4] for i in (1, 2, 3)] == [1767225600000, 1767225600000, 5]
    memory.add(user("d"), time=42)
    assert memory._find(4)[4] == 42


def test_a_memory_with_a_codec_keeps_bytes() -> None:
    plain = hm.create_memory("sliding", max_tokens=300, counter=len)
    packed = hm.create_memory("sliding", max_tokens=300, counter=len, codec=(msgpack.packb, msgpack.unpackb))
    script = [
        user("你好"),
        calls("a"),
        result("a", "r" * 700),
        assistant("好👍🏽"),
        user("dead"),
        calls("b"),
        user("z"),
    ]
    for message in script * 4:
        plain.add(message)
        packed.add(message)
        wire, tokens, exact, parts = packed.encoded_messages()
        assert msgpack.unpackb(wire) == plain.messages() == packed.messages()
        assert (tokens, exact) == (plain.token_count, False)
        assert parts == plain.prompt().parts
    wire, tokens, _, _ = packed.encoded_messages(fixed_tokens=200)
    assert msgpack.unpackb(wire) == plain.messages(fixed_tokens=200)


def test_many_threads_lose_nothing(memory) -> None:
    memory.configure(history_bytes=1 << 30)
    seqs: list[int] = []
    failed: list[BaseException] = []

    def work(k: int) -> None:
        try:
            for i in range(500):
                kind = i % 4
                if kind == 3:
                    seqs.append(memory.add({"role": "user", "content": f"{k}", "name": "n"}))
                else:
                    seqs.append(memory.add(user(f"{k} {i}"), id=f"{k}-{i}" if kind == 2 else None))
                assert memory.token_count <= 400
                memory.messages()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert sorted(seqs) == list(range(1, 4001))


def test_a_counter_may_call_back_into_the_memory() -> None:
    def counter(text: str) -> int:
        if text == "outer":
            memory.add(user("inner"))
            assert memory.token_count > 0
        return len(text)

    memory = hm.create_memory("sliding", counter=counter)
    memory.add(user("outer"))
    memory.add({"role": "user", "content": "outer", "name": "n"})
    assert [m["content"] for m in memory.messages()] == ["inner", "outer", "inner", "outer"]


def test_clear_and_close(memory) -> None:
    memory.add(user("a"), id="x")
    memory.clear()
    assert memory.messages() == []
    assert memory.add(user("b"), id="x") == 2
    memory.close()
    memory.close()
    uses = (
        lambda: memory.add(user("c")),
        memory.messages,
        memory.prompt,
        memory.stats,
        lambda: memory.token_count,
        lambda: memory.rewind(0),
        memory.clear,
        lambda: memory.configure(max_tokens=100),
        memory.settle,
    )
    for use in uses:
        with pytest.raises(hm.ClosedError):
            use()
    assert "closed" in repr(memory)


def test_history_stays_within_its_bytes() -> None:
    memory = hm.create_memory("sliding", max_tokens=500, counter=len, history_bytes=20_000)
    for i in range(5_000):
        memory.add(user(f"{i:030}"))
    stats = memory.stats()
    assert 10_000 < stats["history_bytes"] <= 20_000
    assert stats["core_bytes"] < 60_000
    assert stats["dropped_messages"] + stats["history_messages"] + stats["window_messages"] == 5_000


def test_the_byte_limit_is_a_clear_error() -> None:
    memory = hm.create_memory(
        "sliding", max_tokens=1 << 30, limit_bytes=1 << 17, codec=(msgpack.packb, msgpack.unpackb)
    )
    while memory.stats()["core_bytes"] < 100_000:
        memory.add(user("x" * 1000))
    before = memory.messages()
    with pytest.raises(hm.LimitError, match="limit_bytes"):
        memory.add(user("x" * 100_000))
    assert memory.messages() == before
    memory.add(user("small"))
