"""The measurements of table.py. Each one runs in a process of its own:

    python bench/rows.py core | add | messages | wire | turn

and prints one JSON line: {"cases": [{"what", "goal", "value", "ok"}, ...], "detail": {...}}.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import median

import measure
import msgpack
from python_window import PythonWindow

import harmony_mem as hm
from harmony_mem import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from measure import Message

BUDGET = 4096
COUNTERS: dict[str, tuple[Any, Callable[[str], int]]] = {
    "Python counter": (measure.half, measure.half),
    "counter in C": ("estimate", _core.estimate),
}


def case(what: str, goal: str, value: float, ok: bool) -> dict[str, Any]:
    return {"what": what, "goal": goal, "value": round(value, 3), "ok": bool(ok)}


def at_least(what: str, goal: float, value: float) -> dict[str, Any]:
    return case(what, f"≥ {goal} ×", value, value >= goal)


def at_most(what: str, goal: float, value: float) -> dict[str, Any]:
    return case(what, f"≤ {goal} ×", value, value <= goal)


# ---------------------------------------------------------------------------------------------------- row 1
def core() -> dict[str, Any]:
    """append + evict in the C core against memcpy."""
    program = str(measure.core_bench())
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    found = {line["records"]: line for line in map(json.loads, lines)}
    allocations = sum(line["allocations"] for line in found.values())
    return {
        "cases": [
            at_most("append + evict / memcpy, 200 bytes, 10² live records", 2.5, found[100]["ratio"]),
            at_most("append + evict / memcpy, 200 bytes, 10⁶ live records", 1.3, found[1000000]["ratio"]),
            case("allocations in steady state", "0", allocations, allocations == 0),
        ],
        "detail": {str(records): line for records, line in found.items()},
    }


# ---------------------------------------------------------------------------------------------------- row 2
def both(counter: str, budget: int = BUDGET, **options: Any) -> tuple[hm.Memory, PythonWindow]:
    """A memory and the baseline with the same settings: the sliding memory's default overlap is 30 %."""
    ours, theirs = COUNTERS[counter]
    memory = hm.create_memory("sliding", max_tokens=budget, counter=ours, **options)
    window = PythonWindow(budget, budget * 3 // 10, theirs)
    memory.add(measure.SYSTEM)
    window.add(measure.SYSTEM)
    return memory, window


def adder(window: Any, messages: list[Message], times: int) -> Callable[[], None]:
    def work() -> None:
        add = window.add
        for _ in range(times):
            for message in messages:
                add(message)

    return work


def add() -> dict[str, Any]:
    """add in steady state against the window in plain Python, which keeps no history; then with the default history."""
    cases, detail = [], {}
    for history in ("no history", "default history"):
        options = {"history_bytes": 0} if history == "no history" else {}
        for text, messages in (("conversation", measure.conversation(240)), ("200 letters", measure.letters(240))):
            for counter, goal in (("Python counter", 3.0), ("counter in C", 4.5)):
                ours, theirs = both(counter, **options)
                works = {"ours": adder(ours, messages, 10), "theirs": adder(theirs, messages, 10)}
                for work in works.values():
                    work()  # twice 2,400 messages: the window is full, and so is the history
                    work()
                times = measure.compare(works, 10 * len(messages), 41)
                value = measure.ratio(times["theirs"], times["ours"])
                detail[f"{text}, {counter}, {history}"] = {name: round(median(t), 1) for name, t in times.items()} | {
                    "ratio": round(value, 2)
                }
                if text == "conversation" and not history.startswith("default"):
                    cases.append(at_least(f"`add`, {counter}, against plain Python", goal, value))
    for name, options in (("no history", {"history_bytes": 0}), ("default history", {})):
        young, old = early_and_late(options)
        value = measure.ratio(old, young)
        detail[f"after 10^2 and 10^6, {name}"] = {
            "young": round(median(young), 1),
            "old": round(median(old), 1),
            "ratio": round(value, 3),
        }
        if name == "no history":
            cases.append(at_most("`add` after 10⁶ messages / after 10²", 1.1, value))
    return {"cases": cases, "detail": detail}


def early_and_late(options: dict[str, Any], rounds: int = 41, memories: int = 40) -> tuple[list[float], list[float]]:
    """ns for one add: messages 101 to 200 of fresh memories, and the same number after 10^6 messages.

    The budget is small, so that the hundredth message already meets a full window. The default history is not full by
    then, and dropping from it is work that only the old session has.
    """
    messages = measure.conversation(100)
    old, _ = both("counter in C", budget=1024, **options)
    adder(old, messages, 10_000)()
    late = adder(old, messages, memories)
    times: tuple[list[float], list[float]] = ([], [])
    for i in range(rounds + 1):
        fresh = [both("counter in C", budget=1024, **options)[0] for _ in range(memories)]
        for memory in fresh:
            adder(memory, messages, 1)()

        def early(fresh: list[hm.Memory] = fresh) -> None:
            for memory in fresh:
                add = memory.add
                for message in messages:
                    add(message)

        sample = measure.per_operation(early, memories * 100), measure.per_operation(late, memories * 100)
        if i:
            times[0].append(sample[0])
            times[1].append(sample[1])
    return times


# ---------------------------------------------------------------------------------------------------- rows 3 and 4
def sixty(windows: tuple[Any, ...]) -> None:
    """Fills the windows until they show 60 messages, well after the first eviction."""
    messages = measure.conversation(240)
    for message in messages * 5:
        for window in windows:
            window.add(message)
    for message in messages:
        if len(windows[0].messages()) == 60:
            break
        for window in windows:
            window.add(message)
    assert [len(window.messages()) for window in windows] == [60] * len(windows)


def repeat(call: Callable[[], object], times: int) -> Callable[[], None]:
    def work() -> None:
        for _ in range(times):
            call()

    return work


def messages() -> dict[str, Any]:
    """messages() of 60, the memory's own dicts and copies, against the same list made in Python."""
    windows = ours, theirs = both("Python counter", budget=2048)
    sixty(windows)
    assert ours.messages() == theirs.messages()
    records = [(message, 40, 0) for message in theirs.messages()]

    def no_copy() -> None:
        call = ours.messages
        for _ in range(500):
            call(copy=False)

    def comprehension() -> None:
        for _ in range(500):
            [record[0] for record in records]

    works = {
        "ours": no_copy,
        "a deque unpacked": repeat(theirs.messages, 500),
        "a comprehension over records": comprehension,
        "ours, copies": repeat(ours.messages, 500),
        "copies in Python": repeat(theirs.copied_messages, 500),
    }
    times = measure.compare(works, 500, 41)
    fast = times["ours"]
    return {
        "cases": [
            at_least("`messages(copy=False)` of 60, against a list built from records", 2.5,
                     measure.ratio(times["a comprehension over records"], fast)),
            at_least("`messages(copy=False)` of 60, against unpacking a deque of dicts", 2.5,
                     measure.ratio(times["a deque unpacked"], fast)),
        ],
        "detail": {name: round(median(t), 1) for name, t in times.items()}
        | {"copies": round(measure.ratio(times["copies in Python"], times["ours, copies"]), 2)},
    }  # fmt: skip


def wire() -> dict[str, Any]:
    """The prompt's 60 messages as bytes for the wire, against packing them."""
    packer = msgpack.Packer()
    memory, _ = both("Python counter", budget=2048, codec=(packer.pack, msgpack.unpackb))
    sixty((memory,))
    plain = memory.messages()
    assert msgpack.unpackb(memory._gather()) == plain
    works: dict[str, Callable[[], object]] = {
        "ours": memory._gather,
        "packb": partial(msgpack.packb, plain),
        "Packer.pack": partial(packer.pack, plain),
        "ours, with the account": memory.encoded_messages,
    }
    times = measure.compare({name: repeat(call, 100) for name, call in works.items()}, 100, 41)
    return {
        "cases": [at_least("60 messages as bytes, against packb", 25, measure.ratio(times["packb"], times["ours"]))],
        "detail": {name: round(median(t), 1) for name, t in times.items()} | {"bytes": len(memory._gather())},
    }


# ---------------------------------------------------------------------------------------------------- row 5
def turn() -> dict[str, Any]:
    """One turn (add + messages) at 10,000 messages of history against trim_messages of langchain-core."""
    python = os.environ.get("HM_LANGCHAIN_PYTHON", sys.executable)
    script = Path(__file__).with_name("langchain_trim.py")
    memory, _ = both("Python counter")
    history = measure.talk(10_000)
    adder(memory, history, 1)()

    def ours() -> None:
        for message in history[:200]:
            memory.add(message)
            memory.messages()

    def once() -> float:
        return median(measure.per_operation(ours, 200) for _ in range(21))

    before = once()
    texts = json.dumps([message["content"] for message in history])
    command = [python, "-W", "ignore", str(script)]
    run = subprocess.run(command, input=texts, capture_output=True, text=True, check=False)
    if run.returncode:
        why = (run.stderr.strip().splitlines() or ["no output"])[-1]
        return {
            "cases": [],
            "detail": {"ours": round(before, 1)},
            "skipped": f"langchain-core: {why}; python -m venv V && V/bin/pip install langchain-core==1.8.3, "
            "then HM_LANGCHAIN_PYTHON=V/bin/python",
        }
    theirs = json.loads(run.stdout)
    fast = median((before, once()))
    return {
        "cases": [at_least("one turn at 10,000 messages, against `trim_messages`", 1000, theirs["ns"] / fast)],
        "detail": {"ours": round(fast, 1), "trim_messages": theirs["ns"], "langchain-core": theirs["version"]},
    }


ROWS: dict[str, Callable[[], dict[str, Any]]] = {
    "core": core,
    "add": add,
    "messages": messages,
    "wire": wire,
    "turn": turn,
}

if __name__ == "__main__":
    print(json.dumps(ROWS[sys.argv[1]](), ensure_ascii=False))
