"""One turn with trim_messages of langchain-core: append a message, trim the whole history. Called by rows.py.

Texts come as a JSON list on stdin; prints {"ns": median CPU time of a turn, "version": ...}. It needs langchain-core
alone, so it may run in another interpreter than harmony_mem.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from statistics import median
from time import process_time_ns

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, trim_messages

TURNS = 40


def count(messages: list[BaseMessage]) -> int:
    return sum(len(message.content) // 2 for message in messages)


def main() -> None:
    texts = json.load(sys.stdin)
    kinds = HumanMessage, AIMessage
    history: list[BaseMessage] = [SystemMessage("You are a helpful assistant on a small board. " * 4)]
    history += [kinds[i % 2](text) for i, text in enumerate(texts)]
    times = []
    for i in range(TURNS):
        start = process_time_ns()
        history.append(kinds[i % 2](texts[i]))
        kept = trim_messages(
            history, max_tokens=4096, token_counter=count, strategy="last", include_system=True, start_on="human"
        )
        times.append(process_time_ns() - start)
        assert 2 < len(kept) < len(history)
    print(json.dumps({"ns": median(times), "version": version("langchain-core")}))


if __name__ == "__main__":
    main()
