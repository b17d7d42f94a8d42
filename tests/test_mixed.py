"""Everything at once, seeded: messages, calls, pins, rewinds, other options and other architectures, in any order;
after each step the promises of docs/architecture.md, checked from outside."""

from __future__ import annotations

import random
import threading

import pytest

import harmony_mem as hm

FIXED = 3


def cost(message: dict) -> int:
    total = 5 + len(message.get("content") or "")
    for call in message.get("tool_calls") or []:
        total += 5 + len(call["function"]["name"]) + len(call["function"]["arguments"])
    return total


def step(memory: hm.Memory, r: random.Random, n: int) -> None:
    kind = r.random()
    if kind < 0.3:
        memory.add({"role": "user", "content": f"u{n} 用户 " * r.randint(1, 8)}, pinned=r.random() < 0.05)
    elif kind < 0.55:
        memory.add({"role": "assistant", "content": f"a{n} 订单号 A-{n} " * r.randint(1, 8)}, pinned=r.random() < 0.05)
    elif kind < 0.7:
        ids = [f"c{n}.{k}" for k in range(r.randint(1, 3))]
        calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in ids]
        memory.add({"role": "assistant", "content": None, "tool_calls": calls})
        for i in r.sample(ids, r.randint(0, len(ids))):
            memory.add({"role": "tool", "tool_call_id": i, "content": f"r{i} " * r.randint(1, 80)})
    elif kind < 0.75:
        memory.rewind(max(0, memory.last_seq - r.randint(0, 8)))
    elif kind < 0.85:
        memory.configure(r.choice(hm.ARCHITECTURES))
    elif kind < 0.9:
        memory.configure(max_tokens=r.randint(200, 900))
    else:
        memory.add({"role": "system", "content": "note"})


def check(memory: hm.Memory) -> None:
    budget = memory.stats()["budget"]
    try:
        prompt = memory.prompt()
    except hm.BudgetError as caught:
        error = caught
    else:
        error = None
    if error is not None:
        assert error.needed > budget
        return
    assert prompt.token_count == FIXED + sum(map(cost, prompt.messages)) <= budget
    assert prompt.token_count == memory.token_count == sum(p.tokens for p in prompt.parts if p.included)
    assert memory.messages() == prompt.messages
    rest = [m for m in prompt.messages if m["role"] != "system"]
    if any(m["role"] == "user" for m in rest):
        assert rest[0]["role"] == "user"
    waiting: list[str] = []
    for message in prompt.messages:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
        else:
            assert not waiting
            waiting = [c["id"] for c in message.get("tool_calls") or []]


@pytest.mark.parametrize("block", range(5))
@pytest.mark.parametrize("packed", [False, True])
def test_any_order_of_anything(block, packed) -> None:
    import msgpack

    codec = {"codec": (msgpack.packb, msgpack.unpackb)} if packed else {}
    for seed in range(block * 40, block * 40 + 40):
        r = random.Random(seed)
        memory = hm.create_memory(
            r.choice(hm.ARCHITECTURES),
            max_tokens=r.randint(200, 900),
            reserve_tokens=0,
            counter=len,
            history_bytes=r.choice((0, 5_000, 1 << 20)),
            **codec,
        )
        for n in range(60):
            try:
                step(memory, r, n)
            except hm.HistoryError:
                assert memory.stats()["dropped_messages"]  # a rewind beyond what is kept: refused, nothing changed
            check(memory)


def test_configure_while_other_threads_are_at_work() -> None:
    """The class of a memory changes with its architecture: no call of another thread may fall between the two."""
    memory = hm.create_memory("summary", max_tokens=600)
    failed: list[BaseException] = []

    def work(k: int) -> None:
        r = random.Random(k)
        try:
            for n in range(400):
                kind = r.random()
                if kind < 0.5:
                    memory.add({"role": "user", "content": f"订单 ORD-{n}，{n} 元"})
                elif kind < 0.65:
                    assert memory.prompt().token_count <= 600
                elif kind < 0.75:
                    memory.configure(r.choice(hm.ARCHITECTURES))
                elif kind < 0.8:
                    memory.rewind(max(0, memory.last_seq - 3))
                elif kind < 0.85:
                    memory.clear()
                else:
                    memory.stats()
                    memory.settle(0.01)
        except hm.HistoryError:
            pass
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
