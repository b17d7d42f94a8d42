"""What condensing costs a turn: add of the four memories side by side, and add and messages while a summariser hangs.

    python bench/condensing.py

add: time of an add, mean over blocks of 200 and median of the blocks; a prompt is asked for after every second add and
not timed, since that is when a summariser without a model runs. hang: p99 of add and of messages over 20,000 turns of a
summary memory whose callable summariser hangs, against one whose summariser answers.
"""

from __future__ import annotations

import statistics
import threading
import time

import harmony_mem as hm
from harmony_mem.simulate import shipped

TEXTS = [m for m in shipped().messages if m["role"] in ("user", "assistant") and not m.get("tool_calls")]
BLOCK = 200


def add_ns(architecture: str, before: int) -> float:
    memory = hm.create_memory(architecture)
    for i in range(before):
        memory.add(TEXTS[i % len(TEXTS)])
        if i % 50 == 0:
            memory.messages()
    times = []
    for block in range(15):
        spent = 0
        for i in range(0, BLOCK, 2):
            one, two = (dict(TEXTS[(block * BLOCK + i + k) % len(TEXTS)]) for k in (0, 1))
            memory.messages()
            started = time.perf_counter_ns()
            memory.add(one)
            memory.add(two)
            spent += time.perf_counter_ns() - started
        times.append(spent / BLOCK)
    return statistics.median(times)


def p99(hangs: bool) -> tuple[float, float]:
    never = threading.Event()

    def summarize(messages: list[dict[str, object]], previous: str, target_tokens: int) -> str:
        if hangs:
            never.wait(600)
        return "done"

    memory = hm.create_memory("summary", summarizer=summarize, timeout=1e6)
    adds, asks = [], []
    for i in range(20_000):
        started = time.perf_counter_ns()
        memory.add(TEXTS[i % len(TEXTS)])
        added = time.perf_counter_ns()
        memory.messages()
        adds.append(added - started)
        asks.append(time.perf_counter_ns() - added)
    never.set()
    return sorted(adds)[-len(adds) // 100] / 1000, sorted(asks)[-len(asks) // 100] / 1000


def main() -> None:
    print("add, ns             " + "".join(f"{name:>10}" for name in hm.ARCHITECTURES))
    for before in (100, 1_000, 10_000):
        figures = [add_ns(name, before) for name in hm.ARCHITECTURES]
        print(f"after {before:>7,}       " + "".join(f"{figure:>10.0f}" for figure in figures))
    for hangs in (False, True):
        add, ask = p99(hangs)
        print(f"p99, summariser {'hangs  ' if hangs else 'answers'}: add {add:.1f} us, messages {ask:.1f} us")


if __name__ == "__main__":
    main()
