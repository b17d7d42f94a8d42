"""The simulation: reading conversations, the shipped one, the measures, the generator, the demo.

Expectations are worked out by hand or read from the files with json alone, never with the code under test.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import harmony_mem
from harmony_mem.simulate import (
    Conversation,
    ConversationError,
    Fact,
    Report,
    SimulationError,
    demo,
    generate,
    read,
    read_lines,
    replay,
    run,
    shipped,
    write,
)
from harmony_mem.simulate.conversation import to_lines
from harmony_mem.simulate.run import unrecalled

SHIPPED = Path(harmony_mem.__file__).parent / "simulate" / "customer_zh.jsonl"
USER = '{"message": {"role": "user", "content": "hello 42"}}'


def say(role: str, content: str | None, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def call(*ids: str) -> dict[str, Any]:
    function = {"name": "f", "arguments": "{}"}
    return say("assistant", None, tool_calls=[{"id": i, "type": "function", "function": function} for i in ids])


def result(id: str) -> dict[str, Any]:
    return say("tool", "ok", tool_call_id=id)


# ---------------------------------------------------------------------------------------------- reading
@pytest.mark.parametrize(
    ("lines", "line", "text"),
    [
        (["", USER, "{oops"], 3, "not JSON at column 2"),
        (["[1]"], 1, "expected a JSON object, found a list"),
        ([USER, '{"massage": {}}'], 2, 'expected one of "message" and "fact", found massage'),
        ([USER, "{}"], 2, "found nothing"),
        ([USER, '{"message": "hi"}'], 2, "a message must be an object, found text"),
        ([USER, '{"message": {"role": "robot", "content": ""}}'], 2, "role must be one of .* found 'robot'"),
        (['{"message": {"role": "user", "content": 7}}'], 1, "content must be text, .* found a number"),
        (['{"message": {"role": "user", "content": ["x"]}}'], 1, "every part of content must be an object"),
        (['{"message": {"role": "tool", "content": "x"}}'], 1, 'a tool message needs "tool_call_id"'),
        (['{"message": {"role": "assistant", "content": "", "tool_calls": {}}}'], 1, "tool_calls must be a list"),
        (['{"message": {"role": "assistant", "content": "", "tool_calls": [{"id": "a"}]}}'], 1, "each of tool_calls"),
        (['{"message": {"role": "user", "content": ""}, "time": "9:00"}'], 1, "time must be whole milliseconds"),
        (['{"message": {"role": "user", "content": ""}, "time": true}'], 1, "time must be whole milliseconds"),
        ([USER, '{"fact": {"key": "n", "value": "", "turn": 1}}'], 2, 'a fact needs "key" and "value"'),
        ([USER, '{"fact": {"key": "n", "value": "42", "turn": 0}}'], 2, "whole number from 1, found 0"),
        ([USER, '{"fact": {"key": "n", "value": "43", "turn": 1}}'], 2, "turn 1 does not say '43'"),
        (['{"fact": {"key": "n", "value": "42", "turn": 2}}', USER], 1, "names turn 2, the conversation has 1"),
        ([USER, '{"message": {"role": "user", "content": "\\ud83d"}}'], 2, "lone surrogate"),
        (["[" * 100_000], 1, "nested too deeply|expected a JSON object"),
        (['{"turns": []}'], 1, "a list that is not empty"),
        (['{"turns": [{"role": "user", "content": "a"}, {"role": "x"}]}'], 1, r"turns\[1\]: role must be one of"),
        (
            ['{"turns": [{"role": "user", "content": "a"}], "questions": [{"answers": ["a"], "evidence": [1]}]}'],
            1,
            "there is no message 1",
        ),
    ],
)
def test_error_names_the_line(lines: list[str], line: int, text: str) -> None:
    with pytest.raises(ConversationError, match=text) as caught:
        read_lines(lines, source="talk.jsonl")
    assert caught.value.line == line
    assert str(caught.value).startswith(f"talk.jsonl, line {line}: ")


def test_bytes_that_are_no_text_name_the_line() -> None:
    with pytest.raises(ConversationError, match=r"line 2: not UTF-8 at byte 1$"):
        read_lines([USER.encode(), b"\xff\xfe"])


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_empty_file(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "empty.jsonl"
    file.write_bytes(content)
    with pytest.raises(ConversationError, match="holds no conversation"):
        read(file)


def test_damaged_gzip(tmp_path: Path) -> None:
    file = tmp_path / "cut.jsonl.gz"
    file.write_bytes(gzip.compress((USER + "\n").encode() * 100)[:-12])
    with pytest.raises(ConversationError, match="damaged gzip data"):
        read(file)


def test_spread_form_with_byte_order_mark_and_unknown_keys() -> None:
    lines = [
        "\ufeff" + json.dumps({"message": say("system", "s")}),
        json.dumps({"message": say("user", "my number is 42", extra=[1]), "time": 5}),
        json.dumps({"fact": {"key": "n", "value": "42", "turn": 1}}),
        json.dumps({"message": say("user", [{"type": "text", "text": "and 43"}])}),
        json.dumps({"fact": {"key": "m", "value": "43", "turn": 2}}),
    ]
    (conversation,) = read_lines(lines, source="dir/talk.jsonl.gz")
    assert conversation.id == "talk"
    assert conversation.messages[1] == say("user", "my number is 42", extra=[1])
    assert conversation.times == [None, 5, None]
    assert conversation.turn_numbers() == [0, 1, 2]
    assert [(fact.key, fact.value, fact.turn) for fact in conversation.facts] == [("n", "42", 1), ("m", "43", 2)]


def test_per_line_form_gzipped_takes_times_and_early_facts(tmp_path: Path) -> None:
    early = [say("user", "I live in Oslo, number 7", timestamp=1000), say("assistant", "Noted", timestamp=2000)]
    late = [say("user", f"turn {n}") for n in range(2, 16)] + [say("user", "my dog is Rex the second")]
    questions = [
        {"q": "where?", "answers": ["Norway", "Oslo"], "evidence": [0]},
        {"q": "number?", "answers": ["7"], "evidence": [0]},  # too short to mark anything
        {"q": "street?", "answers": ["Main Street"], "evidence": [0]},  # not said
        {"q": "dog?", "answers": ["Rex the second"], "evidence": [16]},  # turn 16: late
        {"q": "both?", "answers": ["Oslo"], "evidence": [0, 16]},  # a part of it is late
        {"q": "why?", "answers": ["because"], "evidence": []},
    ]
    records = [
        {"id": "a", "turns": early + late, "questions": questions},
        {"messages": [say("user", "x"), call("1"), result("1")]},
    ]
    file = tmp_path / "many.data"  # recognised by content, not by name
    file.write_bytes(gzip.compress("\n".join(map(json.dumps, records)).encode()))
    first, second = read(file)
    assert (first.id, second.id) == ("a", "line 2")
    assert first.messages[0] == say("user", "I live in Oslo, number 7")  # the time is not part of the message
    assert first.times[:3] == [1000, 2000, None]
    assert [(fact.key, fact.value, fact.turn) for fact in first.facts] == [("where?", "Oslo", 1)]
    assert second.turns == 1
    assert second.facts == []


def test_written_conversation_reads_back_the_same(tmp_path: Path) -> None:
    write(generate(3), tmp_path / "generated-3.jsonl")
    (again,) = read(tmp_path / "generated-3.jsonl")
    assert again.messages == generate(3).messages
    assert again.times == generate(3).times
    assert again.id == "generated-3"
    assert [repr(fact) for fact in again.facts] == [repr(fact) for fact in generate(3).facts]


# ---------------------------------------------------------------------------------------------- the shipped one
def raw() -> tuple[list[dict[str, Any]], list[int], list[dict[str, Any]]]:
    """Messages, turn of each, and facts of the shipped file, by json alone."""
    messages, turns, facts = [], [], []
    for line in SHIPPED.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if "fact" in record:
            facts.append(record["fact"])
            continue
        messages.append(record["message"])
        turns.append((turns[-1] if turns else 0) + (record["message"]["role"] == "user"))
    return messages, turns, facts


def words(message: dict[str, Any]) -> str:
    calls = "".join(item["function"]["arguments"] for item in message.get("tool_calls", ()))
    return (message["content"] or "") + calls


def check_calls(messages: list[dict[str, Any]]) -> int:
    """Every round is answered in full, at once and in order; the number of rounds."""
    rounds, index = 0, 0
    while index < len(messages):
        calls = messages[index].get("tool_calls", ())
        answers = messages[index + 1 : index + 1 + len(calls)]
        assert [item["id"] for item in calls] == [answer.get("tool_call_id") for answer in answers]
        assert all(json.loads(item["function"]["arguments"]) for item in calls)
        assert all(answer["role"] == "tool" and json.loads(answer["content"]) for answer in answers)
        rounds += bool(calls)
        index += 1 + len(calls)
        assert index == len(messages) or messages[index]["role"] != "tool"
    return rounds


def test_shipped_conversation_has_120_turns_and_whole_rounds() -> None:
    messages, turns, facts = raw()
    assert turns[-1] == 120
    assert shipped().turns == 120
    assert messages[0]["role"] == "system"
    assert messages[-1]["role"] == "assistant"
    assert sum(message["role"] == "system" for message in messages) == 1
    assert check_calls(messages) == 29
    assert any(len(message.get("tool_calls", ())) > 1 for message in messages)
    ids = [item["id"] for message in messages for item in message.get("tool_calls", ())]
    assert len(ids) == len(set(ids))
    assert len(facts) == 16
    assert shipped().times == sorted(time for time in shipped().times if time is not None)
    spoken = [message["content"] for message in messages if message["role"] in ("user", "assistant")]
    said = [text for text in spoken if text and len(text) > 6]
    assert len(said) == len(set(said))


def test_shipped_facts_are_said_early_and_rarely_again() -> None:
    """docs/simulation.md: all in turns 1 to 15; three of 16 again before the last answer, which tells them all."""
    messages, turns, facts = raw()
    again = set()
    for fact in facts:
        where = {turn for message, turn in zip(messages[:-1], turns, strict=False) if fact["value"] in words(message)}
        assert min(where) == fact["turn"] <= 15
        if max(where) > 15:
            again.add(fact["key"])
        assert fact["value"] in messages[-1]["content"]
    assert again == {"contract", "model", "spokesperson"}


# ---------------------------------------------------------------------------------------------- the measures
class Window:
    """A session that shows the last `size` messages and counts ten tokens for each."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.added: list[tuple[dict[str, Any], int | None]] = []

    def add(self, message: dict[str, Any], *, time: int | None = None) -> int:
        self.added.append((message, time))
        return len(self.added)

    def messages(self) -> dict[str, Any]:
        shown = [dict(message) for message, _ in self.added][-self.size :]
        return {"messages": shown, "token_count": 10 * len(shown)}


class InProcess(Window):
    """The same with the interface of a memory of this process."""

    def prompt(self) -> harmony_mem.Prompt:
        return harmony_mem.Prompt(*super().messages().values(), False, [])

    messages = None  # type: ignore[assignment]

    def stats(self) -> dict[str, int]:
        return {"model_calls": 4}


# Ten ASCII characters each: every message weighs the same.
TALK = [say(role, f"{role[0]}-{number:08}") for number in (1, 2, 3) for role in ("user", "assistant")]


def talk(facts: list[Fact] | None = None) -> Conversation:
    return Conversation("talk", [dict(message) for message in TALK], [1, 2, 3, 4, 5, 6], facts)


def test_prefix_measures_of_a_growing_window() -> None:
    """Prompts of 1, 3 and 5 messages, each the start of the next: shares of 1/3 and 3/5."""
    session = Window(100)
    done: list[int] = []
    report = Report([replay(talk(), session, progress=done.append)])
    assert report.calls == 3
    assert report.whole_prefix == 1.0
    assert report.shared_tokens == pytest.approx((1 / 3 + 3 / 5) / 2)
    assert [report.tokens_at(turn) for turn in (1, 2, 3, 4)] == [10, 30, 50, None]
    assert (report.mean_tokens, report.last_tokens, report.largest) == (30, 50, 50)
    assert done == [1, 2, 3]
    assert session.added == [(message, time) for message, time in zip(TALK, range(1, 7), strict=True)]


def test_prefix_measures_of_a_full_window() -> None:
    """The last three: [u1], [u1 a1 u2], [u2 a2 u3]. The second starts with the first, the third shares nothing."""
    report = Report([replay(talk(), Window(3))])
    assert report.whole_prefix == 0.5
    assert report.shared_tokens == pytest.approx((1 / 3 + 0) / 2)


def test_fact_measures() -> None:
    """Facts of turns 1, 1 and 2 in a window of the last three: 2/2, then 3/3, then only turn 2's is left."""
    facts = [Fact("a", "u-00000001", 1), Fact("b", "a-00000001", 1), Fact("c", "a-00000002", 2)]
    made = replay(talk(facts), Window(3))
    # The answers of turns 1 and 2 are added after the calls of these turns.
    assert [call.facts for call in made.calls] == pytest.approx([1 / 2, 2 / 3, 1 / 3])
    assert Report([made]).facts_final == pytest.approx(1 / 3)
    assert Report([made]).facts_late == pytest.approx((1 / 2 + 2 / 3 + 1 / 3) / 3)
    assert Report([replay(talk(), Window(3))]).facts_final is None


def test_facts_of_the_last_thirty_turns_only() -> None:
    """40 turns, one fact in the first; a window of 27 messages holds it up to the call of turn 14."""
    messages = [say(role, f"{role} {n}") for n in range(1, 41) for role in ("user", "assistant")]
    conversation = Conversation("long", messages, None, [Fact("a", "user 1\n", 1)])
    conversation.messages[0]["content"] = "user 1\n"
    report = Report([replay(conversation, Window(27))])
    assert report.facts_late == pytest.approx(4 / 30)  # turns 11, 12, 13 and 14 of 11 to 40


def test_a_memory_of_this_process_and_its_extra_calls() -> None:
    report = Report([replay(talk(), InProcess(100)), replay(talk(), InProcess(3))])
    assert report.extra_model_calls == 8
    assert report.whole_prefix == 0.75
    assert report.tokens_at(3) == (50 + 30) / 2
    assert json.loads(json.dumps(report.as_dict((3,))))["tokens_at"] == {"3": 40}


def test_tool_rounds_are_calls_of_their_own_turn() -> None:
    messages = [say("system", "s"), say("user", "a"), call("1", "2"), result("1"), result("2"), say("assistant", "b")]
    made = replay(Conversation("tools", messages), Window(100))
    assert [(call.turn, call.first, call.tokens) for call in made.calls] == [(1, True, 20), (1, False, 50)]
    assert made.final == messages[:5]
    assert len(made.turn_us) == 1


def test_a_conversation_without_answers_is_asked_after_each_user_message() -> None:
    made = replay(Conversation("one side", [say("user", str(n)) for n in range(4)]), Window(2))
    assert [(call.turn, call.tokens) for call in made.calls] == [(1, 10), (2, 20), (3, 20), (4, 20)]


def test_microseconds_per_turn_are_adds_and_prompts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that goes on by 1 microsecond per reading: each timed call then takes one, whatever happens between."""
    now = iter(range(0, 10**6, 1000))
    monkeypatch.setattr(run, "perf_counter_ns", lambda: next(now))
    made = replay(Conversation("timed", [say("system", "s"), *TALK[:3]]), Window(9))
    assert made.turn_us == [3.0, 1.0]  # user + prompt + assistant; user alone; the system message is no turn's


def test_a_prompt_over_its_budget_stops_the_replay() -> None:
    assert Report([replay(talk(), Window(100), budget=50)]).largest == 50
    with pytest.raises(SimulationError, match="'talk', turn 3: the prompt has 50 tokens, its budget is 49"):
        replay(talk(), Window(100), budget=49)


@pytest.mark.parametrize(
    ("messages", "wrong"),
    [
        ([say("user", "a"), call("1", "2"), result("2"), result("1"), say("user", "b")], None),
        ([say("user", "a"), call("1", "2"), result("1")], None),  # open at the end
        ([result("1"), say("user", "b")], "message 0 .* is a result"),
        ([call("1"), result("1"), result("1")], "message 2 .* is a result"),
        ([call("1"), result("2")], "message 1 .* is a result"),
        ([call("1", "2"), result("1"), say("user", "b")], "before message 2 .* no result"),
        ([call("1"), call("2"), result("2")], "before message 1 .* no result"),
    ],
)
def test_torn_prompts_stop_the_replay(messages: list[dict[str, Any]], wrong: str | None) -> None:
    class Fixed(Window):
        def messages(self) -> dict[str, Any]:
            return {"messages": messages, "token_count": 1}

    if wrong is None:
        assert run.torn(messages) is None
        replay(talk(), Fixed(1))
    else:
        with pytest.raises(SimulationError, match=wrong):
            replay(talk(), Fixed(1))


@pytest.mark.parametrize("architecture", harmony_mem.ARCHITECTURES)
def test_every_memory_bears_the_shipped_conversation(architecture: str) -> None:
    memory = harmony_mem.create_memory(architecture, max_tokens=4096)
    made = replay(shipped(), memory, budget=memory.stats()["budget"])
    assert len(made.calls) == 153  # 124 answers and 29 rounds of tools
    assert made.final[0]["role"] == "system"
    assert made.final[-1]["content"].endswith(raw()[0][-2]["content"])  # a memory may put recalled text before it


# ---------------------------------------------------------------------------------------------- the generator
def test_a_seed_gives_the_same_conversation_everywhere() -> None:
    """The digest was made with CPython 3.11; 3.12 and 3.13 gave the same."""
    text = "\n".join(to_lines(generate(7)))
    assert hashlib.sha256(text.encode()).hexdigest() == DIGEST
    assert "\n".join(to_lines(generate(8))) != text


DIGEST = "24e4c7caf2d795267a855e44df6671fda1b0506b61a212839ed3b93d139e0b34"


@pytest.mark.parametrize("seed", range(20))
def test_generated_conversations_are_of_the_shipped_kind(seed: int) -> None:
    conversation = generate(seed)
    messages, turns = conversation.messages, conversation.turn_numbers()
    assert turns[-1] == 120
    assert check_calls(messages) >= 20
    assert len({fact.key for fact in conversation.facts}) == 16
    again = 0
    for fact in conversation.facts:
        where = [turn for message, turn in zip(messages[:-1], turns, strict=False) if fact.value in words(message)]
        assert where[0] == fact.turn <= 15
        again += where[-1] > 15
        assert fact.value in messages[-1]["content"]
    assert again <= 2
    asked = [message["content"] for message in messages if message["role"] == "user"]
    assert len(set(asked)) == 120
    assert not any("{" in (message["content"] or "") for message in messages if message["role"] != "tool")
    assert conversation.times == sorted(time for time in conversation.times if time is not None)


def test_generated_conversations_have_the_length_that_is_asked_for() -> None:
    assert [generate(1, turns).turns for turns in (20, 77, 300)] == [20, 77, 300]
    with pytest.raises(ValueError, match="at least 20 turns, not 19"):
        generate(1, 19)


# ---------------------------------------------------------------------------------------------- the demo
def test_demo_compares_all_memories_through_real_sidecars(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main(["--json"]) == 0
    out, err = capsys.readouterr()
    figures = json.loads(out)
    assert (figures["turns"], figures["facts"], figures["max_tokens"]) == (120, 16, 4096)
    assert list(figures["memories"]) == list(harmony_mem.ARCHITECTURES)
    for name, memory in figures["memories"].items():
        assert memory["calls"] == 153
        assert 0 < memory["largest"] <= memory["budget"] <= 4096
        assert memory["tokens_at"]["15"] > 1000
        assert memory["turn_us"] > 0
        assert memory["resident_kb"] is None or memory["resident_kb"] > 1000
        assert f"{name}: turn 120/120\n" in err


def test_demo_prints_a_table_and_what_the_model_is_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "short.jsonl"
    write(generate(5, 20), file)
    assert demo.main(["--data", str(file), "--architectures", "sliding", "--max-tokens", "3000"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("\nshort: 20 turns, 16 early facts, max_tokens=3000\n")
    lines = out.splitlines()
    assert lines[3].split() == ["sliding"]
    rows = {line[: line.rfind("  ")].strip(): line[line.rfind("  ") :].strip() for line in lines[5:20]}
    assert rows["request tokens, turn 120"] == "-"
    assert rows["budget"] == "3,000"
    assert "  system: 你是" in out


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--architectures", "slidng"], 2, "unknown memory 'slidng'.*sliding"),
        (["--max-tokens", "0"], 2, "at least 1"),
        (["--max-tokens", "many"], 2, "invalid int"),
        (["--data", "no such file"], 2, "no such file: No such file or directory"),
        (["--data", __file__], 2, "line 1: not JSON"),
        (["--architectures", "sliding", "--max-tokens", "100"], 1, "sliding, 'customer_zh': .*budget"),
    ],
)
def test_demo_says_what_is_wrong(arguments: list[str], code: int, text: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert demo.main(arguments) == code
    out, err = capfd.readouterr()
    assert out == ""
    assert "Traceback" not in err
    assert re.search(text, err)


def test_a_demo_that_is_ended_leaves_no_sidecar_behind(tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    file.write_text((json.dumps({"messages": TALK * 100}) + "\n") * 400)
    process = subprocess.Popen(
        [sys.executable, "-c", f"from harmony_mem.simulate import demo; demo.main(['--data', {str(file)!r}])"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 20
    while not list(tmp_path.glob("hm-*/s")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.terminate()
    assert process.wait(20) == 143
    assert list(tmp_path.iterdir()) == [file]


def script(file: Path, text: str) -> str:
    file.write_text("#!/bin/sh\n" + text)
    file.chmod(0o755)
    return str(file)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("echo no library here >&2; exit 3", "ended with 3 before it listened; it wrote:\nno library here"),
        ("while :; do sleep 0.01; done", "did not listen within 0 s; it wrote nothing"),
        (
            "echo listening on it; trap 'echo bad state >&2; exit 4' TERM; while :; do sleep 0.01; done",
            "ended with 4 on",
        ),
        ("echo listening on it; trap '' TERM; while :; do sleep 0.01; done", "ended with -9 on SIGTERM"),
    ],
)
def test_a_sidecar_that_fails_is_told_with_what_it_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, wrong: str
) -> None:
    monkeypatch.setattr(demo.sys, "executable", script(tmp_path / "fake", text))
    monkeypatch.setattr(demo, "START_SECONDS", 5.0 if "echo" in text else 0.3)
    monkeypatch.setattr(demo, "STOP_SECONDS", 0.5)
    sidecar = demo.Sidecar()
    with pytest.raises(SimulationError) as caught, sidecar:
        pass
    assert wrong in str(caught.value)
    assert not Path(sidecar.directory).exists()


def test_a_temporary_directory_too_deep_for_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    monkeypatch.setattr(demo.tempfile, "tempdir", str(deep))
    with pytest.raises(SimulationError, match="set TMPDIR"), demo.Sidecar():
        pass
    assert list(deep.iterdir()) == []


def test_columns_are_aligned_by_what_a_terminal_shows() -> None:
    """A Chinese character takes two columns, a combining accent none."""
    made = demo.table([["", "甲乙"], ["电话", "1"], ["e\u0301t", "22"]])
    assert made.split("\n") == ["      甲乙", "----  ----", "电话     1", "e\u0301t      22"]


def test_excerpts_fit_their_columns() -> None:
    assert demo.shorten("甲乙 丙\n丁", 10) == "甲乙 丙 丁"
    assert demo.shorten("甲乙 丙\n丁", 9) == "甲乙 丙 …"
    assert demo.shorten("甲乙丙丁", 6) == "甲乙…"
    assert demo.shorten("abcdef", 6) == "abcdef"


def test_recalled_text_is_no_part_of_the_prefix() -> None:
    block = "<recalled>\n[2026-01-01 09:00]\nuser: x\n</recalled>\n\n"
    before = [{"role": "user", "content": block + "question"}]
    after = [{"role": "user", "content": "question"}, {"role": "assistant", "content": "answer"}]
    assert unrecalled(before) == after[:1]
    assert unrecalled(after) == after
