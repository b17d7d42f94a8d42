"""Random conversations with tool calls: after every message the prompt is one that a strict provider takes.

The rules are those that provider APIs enforce and that users of other memories reported broken: results without calls
(langchain#33245, autogen#7955, openai-agents#4322), calls without results (pydantic-ai#4728, adk-python#4740), system
prompts lost (semantic-kernel#12612, llama_index#23144), a first message that is not a user's (Flowise#2516), prompts
emptied by one large message (langchain trim_messages), texts cut inside a character (mastra#23787).
"""

from __future__ import annotations

import random

import pytest
import regex

import harmony_mem as hm

WORDS = (
    "明天上午九点开会",
    "发票抬头写错了",
    "please check the order",
    "call me back",
    "🎉",
    "👨‍👩‍👧‍👦",
    "e\u0301t\u00e9",
    "🇨🇳",
    "价格 1,280 元",
)


def text(r: random.Random, most: int) -> str:
    return "，".join(r.choice(WORDS) for _ in range(r.randint(0, most)))


def conversation(r: random.Random) -> list[dict]:
    out: list[dict] = []
    big = r.random() < 0.3

    def size(normal: int) -> int:
        return r.randint(200, 600) if big and r.random() < 0.15 else normal

    if r.random() < 0.9:
        out.append({"role": "system", "content": "system: " + text(r, 6)})
    if r.random() < 0.2:
        out.append({"role": "assistant", "content": "welcome"})
    for turn in range(r.randint(2, 10)):
        out.append({"role": "user", "content": f"u{turn} " + text(r, size(8))})
        for round_ in range(r.choice((0, 0, 1, 1, 2, 5))):
            ids = [f"c{turn}.{round_}.{k}" for k in range(r.choice((1, 1, 2, 3)))]
            made = [{"id": i, "type": "function", "function": {"name": "find", "arguments": text(r, 2)}} for i in ids]
            out.append({"role": "assistant", "content": r.choice((None, text(r, 3))), "tool_calls": made})
            for i in r.sample(ids, len(ids)):
                if r.random() > 0.07:
                    out.append({"role": "tool", "tool_call_id": i, "content": f"r{i} " + text(r, size(12))})
        if r.random() < 0.1:
            out.append({"role": "tool", "tool_call_id": "nobody's", "content": "late"})
        if r.random() < 0.9:
            out.append({"role": "assistant", "content": f"a{turn} " + text(r, size(10))})
    return out


def texts_of(message: dict) -> str:
    return message.get("content") or ""


def check_prompt(added: list[dict], prompt: hm.Prompt, budget: int) -> None:
    shown = prompt.messages
    head = added[: len(added) - len(list_after_head(added))]
    assert shown[: len(head)] == head
    rest = shown[len(head) :]
    # calls and results
    waiting: set[str] = set()
    for i, message in enumerate(shown):
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting, f"result {i} without its call"
            waiting.discard(message["tool_call_id"])
        else:
            assert not waiting, f"message {i} follows unanswered calls"
            waiting = {c["id"] for c in message.get("tool_calls") or []}
    users = [m for m in added if m["role"] == "user"]
    if users:
        assert rest[0]["role"] == "user"
        last = [m for m in rest if m["role"] == "user"][-1]
        assert is_cut_of(last["content"], users[-1]["content"])
    # budget, by an own recount
    cost = 3
    for message in shown:
        cost += 5 + len(texts_of(message))
        for call in message.get("tool_calls") or []:
            cost += 5 + len(call["function"]["name"]) + len(call["function"]["arguments"])
    assert prompt.token_count == cost <= budget
    # order and no repeats: each shown message is an added one, whole or cut, in order
    at = 0
    for message in shown:
        while not same(added[at], message):
            at += 1
        at += 1
    # what was cut was cut between characters
    for message in shown:
        full = next(m for m in added if same(m, message))
        if texts_of(message) != texts_of(full):
            edges = {0} | {found.end() for found in regex.finditer(r"\X", texts_of(full))}
            before, _, after = texts_of(message).partition("[...")
            tail = after.partition(" characters left out...]")[2][1:]
            assert len(texts_of(full)) - len(tail) in edges
            assert len(before.removesuffix("\n")) in edges


def list_after_head(added: list[dict]) -> list[dict]:
    i = 0
    while i < len(added) and added[i]["role"] == "system":
        i += 1
    return added[i:]


def is_cut_of(shown: str, full: str) -> bool:
    if shown == full:
        return True
    before, mark, after = shown.partition("[...")
    tail = after.partition(" characters left out...]")[2][1:]
    return bool(mark) and full.startswith(before.removesuffix("\n")) and full.endswith(tail)


def same(added: dict, shown: dict) -> bool:
    calls = [c["id"] for c in shown.get("tool_calls") or []]
    made = [c["id"] for c in added.get("tool_calls") or []]
    return (
        added["role"] == shown["role"]
        and added.get("tool_call_id") == shown.get("tool_call_id")
        and set(calls) <= set(made)
        and is_cut_of(texts_of(shown), texts_of(added))
    )


@pytest.mark.parametrize("architecture", ["fixed", "sliding"])
@pytest.mark.parametrize("block", range(10))
def test_every_prompt_can_be_sent(architecture, block) -> None:
    for seed in range(block * 30, block * 30 + 30):
        r = random.Random(seed)
        messages = conversation(r)
        dearest = max(len(str(m.get("tool_calls"))) for m in messages)
        budget = r.randint(300, 1500) + dearest + len(messages[0].get("content") or "")
        options = {"overlap_tokens": budget // r.choice((3, 4, 8))} if architecture == "sliding" else {}
        memory = hm.create_memory(architecture, max_tokens=budget, reserve_tokens=0, counter=len, **options)
        for i, message in enumerate(messages):
            memory.add(message)
            check_prompt(messages[: i + 1], memory.prompt(), budget)
            assert memory.messages() == memory.prompt().messages
            assert memory.token_count == memory.prompt().token_count
