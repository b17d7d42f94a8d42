"""Does python_window.py keep the rules of harmony_mem? Seeded random conversations through both, compared.

    python bench/check_window.py [CONVERSATIONS]

Compared after each add: the seq, the messages as wholes and in order, and the token count. Where the prompt does not
fit without shortened texts (which the baseline leaves out), the stored token count is compared alone.
"""

from __future__ import annotations

import random
import sys

from python_window import PythonWindow

import harmony_mem as hm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def conversation(dice: random.Random, length: int) -> list[dict[str, Any]]:
    """Messages in any order that the rules allow, results of calls missing, doubled or unknown now and then."""
    out: list[dict[str, Any]] = []
    waiting: list[str] = []

    def text(most: int) -> str:
        return "".join(dice.choice("文字ab ") for _ in range(dice.randint(0, most)))

    for _ in range(dice.choice((0, 0, 1, 1, 2))):
        out.append({"role": "system", "content": text(30)})
    while len(out) < length:
        draw = dice.random()
        if waiting and draw < 0.75:
            id = waiting.pop(dice.randrange(len(waiting)))
            out.append({"role": "tool", "tool_call_id": id, "content": text(60)})
        elif draw < 0.12:
            out.append({"role": "tool", "tool_call_id": dice.choice(("c1", "lost")), "content": text(40)})
        elif draw < 0.45:
            out.append({"role": "user", "content": text(80)})
        elif draw < 0.75:
            out.append({"role": "assistant", "content": text(120)})
        elif draw < 0.8:
            out.append({"role": "system", "content": text(20)})
        elif draw < 0.85:
            out.append({"role": "user", "content": text(20), "name": text(8)})
        else:
            waiting = [f"c{dice.randint(1, 4)}" for _ in range(dice.randint(1, 3))]
            calls = [
                {"id": id, "type": "function", "function": {"name": "f" * dice.randint(1, 9), "arguments": text(40)}}
                for id in waiting
            ]
            out.append({"role": "assistant", "content": dice.choice((None, "", text(30))), "tool_calls": calls})
    return out


def compare(seed: int) -> int:
    """Raises AssertionError at the first difference; returns the number of evictions seen."""
    dice = random.Random(seed)
    budget = dice.choice((150, 300, 500, 900))
    overlap = dice.choice((0, budget // 10, budget * 3 // 10, budget // 2))
    theirs = PythonWindow(budget, overlap, len)
    memory = hm.create_memory("sliding", max_tokens=budget, overlap_tokens=overlap, counter=len)
    for i, message in enumerate(conversation(dice, dice.randint(20, 150))):
        where = f"seed {seed}, message {i}: {message}"
        assert memory.add(message) == theirs.add(message), where
        assert memory.stored_tokens == theirs.tokens, where
        if memory.stored_tokens <= budget:
            assert memory.messages() == theirs.messages(), where
            assert memory.token_count == theirs.tokens, where
    return memory.evicted_count


def main(conversations: int) -> None:
    evicted = sum(compare(seed) for seed in range(conversations))
    print(f"{conversations} conversations alike, {evicted} messages evicted")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3000)
