"""How the summary memory deals with its summariser: one run at a time, cooldown, time-out, backoff, late and stale
answers.

The cases are those that users of other memories reported (google/adk-python#4740, #5194, letta-ai/letta#957,
langchain-ai/langchain#17888, #38867, #39268, FlowiseAI/Flowise#5873); clock and summariser are controlled, nothing
sleeps.
"""

from __future__ import annotations

import threading
import time
from itertools import pairwise

import pytest

import harmony_mem as hm
from harmony_mem.types import Item, Summary


class Clock:
    def __init__(self) -> None:
        self.ms = 1_767_225_600_000

    def __call__(self) -> int:
        return self.ms

    def forward(self, seconds: float) -> None:
        self.ms += int(seconds * 1000)


class Scripted:
    """A summariser that answers by its script and notes what it was given. `hold` makes it wait for release()."""

    def __init__(self, answer: object = None, *, hold: bool = False) -> None:
        self.answer = answer
        self.calls: list[list[str]] = []
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()
        self.gate = threading.Event()
        self.entered = threading.Semaphore(0)
        self.hold = hold
        if not hold:
            self.gate.set()

    def __call__(self, messages: list[dict], previous: str, target_tokens: int) -> object:
        with self.lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            self.calls.append([m["content"] for m in messages])
            answer = self.answer
        self.entered.release()
        self.gate.wait(20)
        with self.lock:
            self.at_once -= 1
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            return answer(messages, previous, target_tokens)
        return "recap" if answer is None else answer

    @property
    def seen(self) -> list[str]:
        return [text for call in self.calls for text in call]


def user(text: str) -> dict:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict:
    return {"role": "assistant", "content": text}


def fill(memory: hm.Memory, first: int, last: int, size: int = 100) -> None:
    for i in range(first, last + 1):
        memory.add({"role": ("assistant", "user")[i % 2], "content": f"m{i} ".ljust(size, "x")})


def summary_memory(summarizer: object, clock: Clock | None = None, **options: object) -> hm.Memory:
    given = {"max_tokens": 4000, "counter": len, "max_recent_tokens": 1000, "cooldown": 20, "timeout": 30, **options}
    return hm.create_memory("summary", summarizer=summarizer, clock=clock, **given)


def quiet(memory: hm.Memory) -> bool:
    """Waits for a run that is about to end."""
    return memory.settle(10)


def test_all_but_the_newest_are_condensed_and_cited() -> None:
    script = Scripted()
    memory = summary_memory(script, Clock())
    memory.add({"role": "system", "content": "rules"})
    fill(memory, 1, 11)
    assert quiet(memory)
    assert script.calls == [[f"m{i} ".ljust(100, "x") for i in range(1, 9)]]  # m9 begins the turn of the last two
    assert memory.covered == [(2, 9)]
    messages = memory.messages()
    assert [m["role"] for m in messages[:3]] == ["system", "system", "user"]
    assert messages[1]["content"].endswith("- recap")
    assert messages[2]["content"].startswith("m9 ")
    assert memory.summary.items[0].source_seqs == tuple(range(2, 10))


def test_a_late_summary_loses_nothing_that_came_meanwhile() -> None:
    script = Scripted(hold=True)
    memory = summary_memory(script, Clock())
    fill(memory, 1, 20)
    script.entered.acquire(timeout=10)
    covered = len(script.calls[0])
    fill(memory, 21, 24)
    script.gate.set()
    assert quiet(memory)
    assert memory.covered == [(1, covered)]
    shown = [m["content"].split()[0] for m in memory.messages()[1:]]
    assert shown == [f"m{i}" for i in range(covered + 1, 25)]


@pytest.mark.parametrize("how", ["clear", "close", "rewind", "configure"])
def test_an_answer_for_a_state_that_is_no_more_is_dropped(how) -> None:
    script = Scripted(hold=True)
    memory = summary_memory(script, Clock())
    fill(memory, 1, 20)
    script.entered.acquire(timeout=10)
    {
        "clear": memory.clear,
        "close": memory.close,
        "rewind": lambda: memory.rewind(5),
        "configure": lambda: memory.configure("sliding"),
    }[how]()
    script.gate.set()
    end = time.monotonic() + 10
    while script.at_once and time.monotonic() < end:
        pass
    if how == "close":
        assert memory._condenser.counts["stale"] in (0, 1)
        return
    memory.settle(10)
    if how == "configure":
        memory.configure("summary")
    assert memory.covered == [] or how == "configure"
    texts = [m["content"] for m in memory.messages()]
    assert not any("recap" in t for t in texts) or how == "configure"


def test_a_hung_summariser_is_given_up_and_its_late_answer_dropped() -> None:
    clock, script = Clock(), Scripted(hold=True)
    memory = summary_memory(script, clock)
    fill(memory, 1, 20)
    script.entered.acquire(timeout=10)
    clock.forward(29)
    assert memory.stats()["summarizing"]
    clock.forward(1)
    assert not memory.stats()["summarizing"]
    assert memory.stats()["summaries_timed_out"] == 1
    first = memory._condenser
    clock.forward(60)
    memory.add(user("again"))  # a second run starts, and is held too
    script.entered.acquire(timeout=10)
    assert len(script.calls) == 2
    script.gate.set()
    assert quiet(memory)
    end = time.monotonic() + 10
    while memory.stats()["summaries_stale"] < 1 and time.monotonic() < end:
        pass
    stats = memory.stats()
    assert (stats["summaries_stale"], stats["model_calls"]) == (1, 2)
    assert first.running is None
    assert memory.covered[0][0] == 1
    assert sum("recap" in m["content"] for m in memory.messages()) == 1


@pytest.mark.parametrize("answer", [RuntimeError("no route"), "", None.__class__, " \n ", b"bytes", 7])
def test_a_failure_changes_nothing_and_backs_off(answer) -> None:
    clock, script = Clock(), Scripted()
    memory = summary_memory(script, clock)
    fill(memory, 1, 12)
    assert quiet(memory)
    before = memory.summary, memory.covered, memory.messages()[0]
    calls = len(script.calls)
    script.answer = (lambda *a: None) if answer is None.__class__ else answer
    clock.forward(20)
    fill(memory, 13, 40)
    assert quiet(memory)
    assert (memory.summary, memory.covered, memory.messages()[0]) == before
    assert len(script.calls) == calls + 1
    assert "no route" not in str(memory.messages())
    assert memory.stats()["summaries_failed"] == 1
    fill(memory, 41, 60)
    assert quiet(memory)
    assert len(script.calls) == calls + 1  # not at the next message
    clock.forward(19.9)
    memory.add(user("early"))
    assert quiet(memory)
    assert len(script.calls) == calls + 1
    script.answer = None
    clock.forward(21)
    memory.add(assistant("now"))
    assert quiet(memory)
    assert len(script.calls) == calls + 2
    good = script.calls[:calls] + script.calls[-1:]
    seen = [t.split()[0] for call in good for t in call]
    assert len(seen) == len(set(seen))
    first_left = memory.messages()[1]["content"].split()[0]
    assert seen == [f"m{i}" for i in range(1, int(first_left[1:]) if first_left[0] == "m" else 61)]


def test_the_budget_holds_while_nothing_is_condensed() -> None:
    script = Scripted(RuntimeError("down"))
    memory = summary_memory(script, Clock(), max_tokens=2000)
    for i in range(1, 200):
        fill(memory, i, i)
        assert memory.token_count <= 2000
    assert quiet(memory)
    script.answer = None
    memory._condenser._retry_at = None
    memory._condenser._last_start = None
    assert quiet(memory)
    kept = [m["content"].split()[0] for m in memory.messages()[1:]]
    assert [t.split()[0] for t in script.calls[-1]] + kept == [f"m{i}" for i in range(1, 200)]


def test_single_flight_and_cooldown_from_four_threads() -> None:
    clock, script = Clock(), Scripted()
    memory = summary_memory(script, clock, max_tokens=20_000, timeout=1e6)
    starts: list[int] = []
    start = memory._condenser.start

    def noted(generation: int, work: object) -> bool:
        started = start(generation, work)
        if started:
            starts.append(memory._condenser._last_start)
        return started

    memory._condenser.start = noted

    def work(k: int) -> None:
        for i in range(125):
            clock.forward(0.5)
            memory.add(user(f"t{k} {i} ".ljust(100, "x")))
            memory.messages()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert quiet(memory)
    assert script.most_at_once == 1
    assert len(starts) >= 2
    assert all(b - a >= 20_000 for a, b in pairwise(starts))
    assert len(script.seen) == len(set(script.seen))


def test_add_and_messages_never_wait() -> None:
    script = Scripted(hold=True)
    memory = summary_memory(script, Clock())
    fill(memory, 1, 30)
    script.entered.acquire(timeout=10)
    started = time.monotonic()
    for i in range(31, 200):
        fill(memory, i, i)
        memory.messages()
    assert memory.settle(0) is False
    assert time.monotonic() - started < 5
    script.gate.set()
    assert quiet(memory)


def test_chunks_fit_the_summarisers_own_window() -> None:
    script = Scripted()
    limit = 1000

    def strict(messages: list[dict], previous: str, target_tokens: int) -> object:
        assert sum(len(m["content"]) for m in messages) + len(previous) <= limit, "more than my window"
        return script(messages, previous, target_tokens)

    strict.max_input_tokens = limit
    memory = summary_memory(strict, Clock(), max_tokens=8000, max_recent_tokens=7500, summary_token_limit=300)
    fill(memory, 1, 30, 200)
    memory.configure(max_tokens=1500, max_recent_tokens=400)
    memory.configure(cooldown=0)
    assert quiet(memory)
    assert len(script.calls) > 5
    seen = [t.split()[0] for t in script.seen]
    left = [m["content"].split()[0] for m in memory.messages()[1:]]
    assert seen + left == [f"m{i}" for i in range(1, 31)]
    memory.add(user("huge " + "y" * 3000))
    memory.add(assistant("ok"))
    memory.add(user("next"))
    memory.add(assistant("ok"))
    assert quiet(memory)
    assert memory.stats()["summaries_failed"] == 0
    assert any("huge" in t and "left out" in t for t in script.seen)


def test_the_cap_of_the_summary_holds_over_time() -> None:
    def everything(messages: list[dict], previous: str, target_tokens: int) -> str:
        return previous + "\n" + "\n".join(m["content"] for m in messages)

    memory = summary_memory(everything, Clock(), cooldown=0, summary_token_limit=400, max_tokens=2000)
    for i in range(1, 400):
        fill(memory, i, i)
        if i % 20 == 0:
            assert quiet(memory)
        prompt = memory.prompt()
        assert prompt.token_count <= 2000
        parts = {p.kind: p.tokens for p in prompt.parts}
        assert parts.get("summary", 0) <= 400
        for line in (prompt.messages[0]["content"] if "summary" in parts else "").splitlines()[1:]:
            assert len(line) == 102  # whole items only


def test_an_open_call_is_never_condensed() -> None:
    script = Scripted()
    memory = summary_memory(script, Clock(), max_tokens=2000, cooldown=0)
    memory.add(user("删除这 12 个文件，先问我"))
    made = {"id": "c_confirm", "type": "function", "function": {"name": "delete", "arguments": "{}"}}
    memory.add({"role": "assistant", "content": "?", "tool_calls": [made]})
    assert quiet(memory)
    assert script.calls == []
    fill(memory, 1, 20, 150)
    seq = memory.add({"role": "tool", "tool_call_id": "c_confirm", "content": "yes"})
    assert quiet(memory)
    assert "c_confirm" not in str(script.calls)
    assert memory._find(seq) is not None
    for message in memory.messages():
        assert message["role"] != "tool"
        assert not message.get("tool_calls")


def test_what_was_condensed_is_not_condensed_again_after_configure() -> None:
    script = Scripted()
    memory = summary_memory(script, Clock(), cooldown=0)
    fill(memory, 1, 30)
    assert quiet(memory)
    summary, covered = memory.summary, memory.covered
    memory.configure("sliding")
    assert not any("recap" in m["content"] for m in memory.messages())
    fill(memory, 31, 34)
    memory.configure("summary")
    assert (memory.summary, memory.covered) == (summary, covered)
    fill(memory, 35, 60)
    assert quiet(memory)
    seen = [t.split()[0] for t in script.seen]
    assert len(seen) == len(set(seen))
    assert seen[: len(seen)] == [f"m{i}" for i in range(1, len(seen) + 1)]


def test_a_rewind_takes_the_summary_back() -> None:
    script = Scripted()
    memory = summary_memory(script, Clock(), cooldown=0)
    states = []
    for i in range(1, 80):
        fill(memory, i, i)
        assert quiet(memory)
        states.append((memory.last_seq, memory.summary, memory.covered))
    for seq, _, _ in reversed(states[10::7]):
        memory.rewind(seq)
        assert all(b <= seq for _, b in memory.covered)
        if memory.summary is not None:
            assert all(s <= seq for item in memory.summary.items for s in item.source_seqs)
        texts = [m["content"] for m in memory.messages() if m["role"] != "system"]
        numbers = [int(t.split()[0][1:]) for t in texts]
        covered = {s for a, b in memory.covered for s in range(a, b + 1)}
        assert sorted(covered | set(numbers)) == list(range(1, seq + 1))
        assert not covered & set(numbers)


def test_a_summariser_may_change_what_it_gets_and_call_back() -> None:
    def rude(messages: list[dict], previous: str, target_tokens: int) -> object:
        for message in messages:
            message["content"] = "changed"
            message.clear()
        assert memory.last_seq >= 11
        memory.add(user("from inside"), id="once")
        return Summary([Item("a fact", [1])])

    memory = summary_memory(rude, None, cooldown=0)
    fill(memory, 1, 11)
    assert quiet(memory)
    assert "changed" not in str(memory.messages())
    assert memory.messages()[-1] == user("from inside")
    assert memory.rewind(12) is None


def test_a_long_turn_is_condensed_behind_its_question() -> None:
    script = Scripted()
    memory = summary_memory(script, Clock(), cooldown=0, max_recent_tokens=600)
    memory.add(user("do all of it"))
    for i in range(12):
        made = {"id": f"c{i}", "type": "function", "function": {"name": "step", "arguments": "{}"}}
        memory.add({"role": "assistant", "content": f"step {i}", "tool_calls": [made]})
        memory.add({"role": "tool", "tool_call_id": f"c{i}", "content": f"result {i} ".ljust(80, "x")})
        assert quiet(memory)
        messages = memory.messages()
        assert user("do all of it") in messages
        for at, message in enumerate(messages):
            if message["role"] == "tool":
                assert messages[at - 1]["tool_calls"][0]["id"] == message["tool_call_id"]
    assert "do all of it" not in script.seen
    assert memory.covered[0][0] == 2
    memory.add(assistant("done"))
    fill(memory, 1, 30)
    assert quiet(memory)
    assert "do all of it" in script.seen
    assert len(memory.covered) == 1


def test_merged_placement_and_bad_options() -> None:
    memory = summary_memory(Scripted(), Clock(), summary_placement="merged")
    memory.add({"role": "system", "content": "rules"})
    fill(memory, 1, 14)
    assert quiet(memory)
    messages = memory.messages()
    assert [m["role"] for m in messages[:2]] == ["system", "user"]
    assert messages[0]["content"].startswith("rules\n\n")
    assert "recap" in messages[0]["content"]
    cost = 3 + sum(5 + len(m["content"]) for m in messages)
    assert memory.token_count == cost == sum(p.tokens for p in memory.prompt().parts if p.included)
    for options in ({"cooldown": -1}, {"timeout": 0}, {"keep_recent": 0}, {"summarizer": 5}, {"summarizer": "gpt"}):
        with pytest.raises(hm.OptionError):
            memory.configure(**options)
    assert memory.messages() == messages


def test_the_summary_yields_before_texts_are_cut() -> None:
    memory = summary_memory(
        Scripted(lambda *a: "\n".join(f"fact {a}{b}" for a in "abcdefgh" for b in "vwxyz")), Clock(), max_tokens=1500
    )
    fill(memory, 1, 14)
    assert quiet(memory)
    assert "fact hz" in memory.messages()[0]["content"]
    memory.add(user("z" * 1300))
    prompt = memory.prompt()
    assert prompt.token_count <= 1500
    assert prompt.messages[-1] == user("z" * 1300)
    memory.add(user("z" * 3000))
    prompt = memory.prompt()
    assert prompt.token_count <= 1500
    assert len(prompt.messages) == 1


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_an_exit_in_a_summariser_is_a_failure_like_any_other(error) -> None:
    def leaves(messages: list[dict], previous: str, target_tokens: int) -> str:
        raise error

    memory = summary_memory(leaves, Clock(), cooldown=0)
    fill(memory, 1, 30)
    assert quiet(memory)
    assert memory.stats()["summaries_failed"] == 1
    assert memory.stats()["model_calls"] == 1


def test_merged_placement_after_clear() -> None:
    memory = summary_memory(Scripted(), Clock(), summary_placement="merged")
    fill(memory, 1, 4)
    memory.clear()
    memory.add({"role": "system", "content": "rules"})
    fill(memory, 1, 14)
    assert quiet(memory)
    assert memory.messages()[0]["content"].startswith("rules\n\n")
