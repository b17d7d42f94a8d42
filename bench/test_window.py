"""The hot paths under pytest-benchmark, each next to its baseline in one group:

    pytest bench --benchmark-enable --benchmark-only --benchmark-columns=median,iqr,rounds

A round is a batch, far above the clock; the figure to read is the median, relative to the other one of its group.
table.py has the ratios that the goals are about.
"""

from __future__ import annotations

import measure
import msgpack
import pytest
import rows
from check_window import compare

import harmony_mem as hm

BATCH = 10 * 240


@pytest.fixture(scope="module")
def messages() -> list[measure.Message]:
    return measure.conversation(240)


def test_the_baseline_keeps_the_rules() -> None:
    """Not a benchmark, but what the others rest on: 200 random conversations, alike message by message."""
    assert sum(compare(seed) for seed in range(200)) > 5000  # evictions seen


@pytest.mark.parametrize("counter", rows.COUNTERS)
@pytest.mark.parametrize("side", ["harmony_mem", "plain Python"])
def test_add(benchmark, messages, counter, side) -> None:
    benchmark.group = f"add, {counter}: {BATCH} messages"
    benchmark.name = side
    window = rows.both(counter, history_bytes=0)[side != "harmony_mem"]
    work = rows.adder(window, messages, 10)
    work()
    benchmark.pedantic(work, rounds=25, warmup_rounds=1)
    assert 60 < len(window.messages()) < 200


@pytest.mark.parametrize("added", [100, 1_000_000])
def test_add_early_and_late(benchmark, added) -> None:
    """Messages 101 to 200 of a session, and 100 more after a million; 20 sessions a round."""
    benchmark.group = "add, counter in C: 2000 messages"
    benchmark.name = f"after {added}"
    messages = measure.conversation(100)

    def session() -> hm.Memory:
        return rows.both("counter in C", budget=1024, history_bytes=0)[0]

    def fresh() -> tuple[tuple[list[hm.Memory]], dict[str, object]]:
        memories = [session() for _ in range(20)] if added == 100 else [old] * 20
        if added == 100:
            for memory in memories:
                rows.adder(memory, messages, 1)()
        return (memories,), {}

    def work(memories: list[hm.Memory]) -> None:
        for memory in memories:
            add = memory.add
            for message in messages:
                add(message)

    old = session()
    if added > 100:
        rows.adder(old, messages, added // 100)()
    benchmark.pedantic(work, setup=fresh, rounds=25, warmup_rounds=1)
    assert old.last_seq > added or added == 100


@pytest.mark.parametrize("how", ["harmony_mem", "plain Python", "harmony_mem, copies", "plain Python, copies"])
def test_messages(benchmark, how) -> None:
    benchmark.group = "messages() of 60: 500 times"
    benchmark.name = how
    windows = ours, theirs = rows.both("Python counter", budget=2048)
    rows.sixty(windows)
    calls = {
        "harmony_mem": lambda: ours.messages(copy=False),
        "plain Python": theirs.messages,
        "harmony_mem, copies": ours.messages,
        "plain Python, copies": theirs.copied_messages,
    }
    benchmark.pedantic(rows.repeat(calls[how], 500), rounds=25, warmup_rounds=1)
    assert calls[how]() == theirs.messages()


@pytest.mark.parametrize("how", ["harmony_mem", "packb"])
def test_wire(benchmark, how) -> None:
    benchmark.group = "60 messages as bytes for the wire: 200 times"
    benchmark.name = how
    memory, _ = rows.both("Python counter", budget=2048, codec=(msgpack.Packer().pack, msgpack.unpackb))
    rows.sixty((memory,))
    plain = memory.messages()
    calls = {"harmony_mem": memory._gather, "packb": lambda: msgpack.packb(plain)}
    benchmark.pedantic(rows.repeat(calls[how], 200), rounds=25, warmup_rounds=1)
    assert msgpack.unpackb(calls[how]()) == plain


def test_turn(benchmark) -> None:
    benchmark.group = "a turn (add + messages) at 10,000 messages: 200 times"
    benchmark.name = "harmony_mem"
    memory, _ = rows.both("Python counter")
    history = measure.talk(10_000)
    rows.adder(memory, history, 1)()

    def work() -> None:
        for message in history[:200]:
            memory.add(message)
            memory.messages()

    benchmark.pedantic(work, rounds=25, warmup_rounds=1)
    assert memory.last_seq > 10_000
