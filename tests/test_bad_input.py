"""Bad input gets a clear error, or the outcome that the rules name, and loses nothing."""

from __future__ import annotations

import enum
import time

import pytest
import regex

import harmony_mem as hm

BROKEN_MESSAGES = [
    ("a text", "not str"),
    (None, "not NoneType"),
    ({}, "role is None"),
    ({"role": "usr", "content": "x"}, "did you mean 'user'"),
    ({"role": "developer", "content": "x"}, "allowed: system, user, assistant, tool"),
    ({"role": ["user"], "content": "x"}, "role is a list"),
    ({"role": "user"}, "content of a user message is missing"),
    ({"role": "user", "content": None}, "content of a user message is NoneType"),
    ({"role": "user", "content": 5}, "content of a user message is int"),
    ({"role": "user", "content": b"x"}, "content of a user message is bytes"),
    ({"role": "user", "content": [3]}, r"content\[0\] is int"),
    ({"role": "user", "content": "x", 7: 1}, "a key of the message is 7"),
    ({"role": "user", "content": "x", "name": 5}, "name is int"),
    ({"role": "user", "content": "x", "tool_calls": [{"id": "a"}]}, "only an assistant message makes calls"),
    ({"role": "tool", "content": "x"}, "tool_call_id of a tool message is missing"),
    ({"role": "tool", "content": "x", "tool_call_id": 5}, "tool_call_id of a tool message is int"),
    ({"role": "assistant", "content": None, "tool_calls": "f"}, "tool_calls is str"),
    ({"role": "assistant", "content": None, "tool_calls": ["f"]}, r"tool_calls\[0\] is str"),
    ({"role": "assistant", "content": None, "tool_calls": [{"function": {}}]}, r"tool_calls\[0\] has no id"),
    ({"role": "assistant", "tool_calls": [{"id": "a", "function": {}}]}, "function has no name"),
    (
        {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": 3}}]},
        "arguments is int",
    ),
]


@pytest.mark.parametrize(("message", "says"), BROKEN_MESSAGES)
def test_a_broken_message_says_what_and_where(message, says) -> None:
    memory = hm.create_memory("sliding")
    memory.add({"role": "user", "content": "kept"})
    with pytest.raises(hm.MessageError, match=says):
        memory.add(message)
    assert memory.messages() == [{"role": "user", "content": "kept"}]
    assert memory.last_seq == 1


def test_an_object_of_a_client_library_gets_a_hint() -> None:
    class ChatCompletionMessage:
        def model_dump(self) -> dict:
            return {}

    with pytest.raises(hm.MessageError, match="model_dump"):
        hm.create_memory("sliding").add(ChatCompletionMessage())


def test_a_message_that_contains_itself() -> None:
    message: dict = {"role": "user", "content": "x"}
    message["self"] = message
    with pytest.raises(hm.MessageError, match="32 levels"):
        hm.create_memory("sliding").add(message)


@pytest.mark.parametrize("size", [60, 1_000_000])
def test_errors_stay_short(size) -> None:
    memory = hm.create_memory("sliding")
    word = "u" * size
    started = time.process_time()
    for act in (
        lambda: memory.add({"role": word, "content": "x"}),
        lambda: memory.configure(**{word: 1}),
        lambda: memory.configure(word),
        lambda: memory.configure(preset=word),
        lambda: memory.configure(counter=word),
        lambda: memory.build_prompt(word),
    ):
        with pytest.raises(hm.HarmonyMemError) as caught:
            act()
        assert len(str(caught.value)) < 600
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"max_tokens": -5}, "max_tokens is -5"),
        ({"max_tokens": 4096.0}, "max_tokens is 4096.0"),
        ({"max_tokens": True}, "max_tokens is True"),
        ({"max_tokens": "4096"}, "max_tokens is '4096'"),
        ({"max_tokens": 1 << 60}, "max_tokens"),
        ({"max_tokens": 100, "reserve_tokens": 100}, "leaves nothing of max_tokens 100"),
        ({"reserve_tokens": -1}, "reserve_tokens is -1"),
        ({"max_tokens": 100, "overlap_tokens": 100}, "leaves nothing of the budget 100"),
        ({"overlap": 5}, "did you mean 'overlap_tokens'"),
        ({"maxTokens": 5}, "did you mean 'max_tokens'"),
        ({"max_turns": 3}, "unknown option 'max_turns' for the sliding memory"),
        ({"counter": "estimat"}, "did you mean 'estimate'"),
        ({"counter": 5}, "counter must be"),
        ({"overhead": "chatlm"}, "did you mean 'chatml'"),
        ({"oversize": "drop"}, "allowed: 'split', 'refuse'"),
        ({"preset": "cars"}, "did you mean 'car'"),
        ({"clock": 5}, "clock is int"),
        ({"limit_bytes": 5}, "limit_bytes is 5"),
        ({"history_bytes": None}, "history_bytes is None"),
    ],
)
def test_a_wrong_option_is_named_with_what_is_allowed(options, says) -> None:
    with pytest.raises(hm.OptionError, match=regex.escape(says, special_only=True)):
        hm.create_memory("sliding", **options)


def test_architectures() -> None:
    with pytest.raises(hm.OptionError, match="did you mean 'sliding'"):
        hm.create_memory("slidng")
    with pytest.raises(hm.OptionError, match="allowed: fixed, layered, sliding, summary"):
        hm.create_memory(None)
    with pytest.raises(hm.OptionError, match="abstract"):
        hm.Memory()


@pytest.mark.parametrize("answer", [-1, 1.5, None, "3", 1 << 62, float("nan")])
def test_a_counter_that_does_not_count(answer) -> None:
    memory = hm.create_memory("sliding", counter=lambda text: answer)
    with pytest.raises(hm.CounterError, match="non-negative int"):
        memory.add({"role": "user", "content": "x"})
    assert memory.last_seq == 0


def test_a_counter_that_raises() -> None:
    def counter(text: str) -> int:
        raise KeyError("vocab")

    memory = hm.create_memory("sliding", counter=counter)
    with pytest.raises(hm.CounterError, match="raised KeyError") as caught:
        memory.add({"role": "user", "content": "x"})
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize("given", [-1, 1.0, True, "now", 1 << 63])
def test_times(given) -> None:
    with pytest.raises(hm.MessageError, match="time is"):
        hm.create_memory("sliding").add({"role": "user", "content": "x"}, time=given)


@pytest.mark.parametrize("given", ["", 5, b"x"])
def test_ids(given) -> None:
    with pytest.raises(hm.MessageError, match="id is"):
        hm.create_memory("sliding").add({"role": "user", "content": "x"}, id=given)


@pytest.mark.parametrize("seq", [-1, 1.5, True, "3", None])
def test_seqs(seq) -> None:
    memory = hm.create_memory("sliding")
    with pytest.raises(hm.HistoryError):
        memory.rewind(seq)
    with pytest.raises(hm.HistoryError):
        memory.unpin(seq)


def test_calls_of_a_prompt() -> None:
    memory = hm.create_memory("sliding")
    for bad in (-1, 1.5, True, 1 << 50):
        with pytest.raises(hm.OptionError, match="fixed_tokens"):
            memory.messages(fixed_tokens=bad)
    with pytest.raises(hm.MessageError, match="query is int"):
        memory.prompt(5)


def test_a_budget_below_the_system_prompt() -> None:
    memory = hm.create_memory("sliding", max_tokens=100, counter=len)
    memory.add({"role": "system", "content": "s" * 300})
    seq = memory.add({"role": "user", "content": "hi"})
    for ask in (memory.messages, memory.prompt, lambda: memory.token_count, memory.build_prompt):
        with pytest.raises(hm.BudgetError) as caught:
            ask()
    assert caught.value.budget == 100
    assert caught.value.needed == 3 + 305 + 7
    assert caught.value.parts == {"overhead": 3, "head": 305, "pinned": 0, "anchor": 7, "newest": 0}
    assert caught.value.seq == 1
    assert memory.stored_tokens == 315
    memory.configure(max_tokens=400)
    assert memory.messages()[-1]["content"] == "hi"
    assert seq == 2


def test_surrogates_are_replaced_and_nul_is_text() -> None:
    memory = hm.create_memory("sliding")
    memory.add({"role": "user", "content": "half \ud83d emoji\x00", "k\udc00": ["\udfff", {"a": "\ud800"}]})
    (got,) = memory.messages()
    assert got == {"role": "user", "content": "half \ufffd emoji\x00", "k\ufffd": ["\ufffd", {"a": "\ufffd"}]}
    memory.add({"role": "assistant", "content": "\ud800"})
    assert memory.messages()[1]["content"] == "\ufffd"


def test_ten_megabytes_are_one_shortened_message() -> None:
    memory = hm.create_memory("sliding", max_tokens=1000)
    memory.add({"role": "system", "content": "系统"})
    memory.add({"role": "user", "content": "汉字 and words " * 800_000})
    started = time.process_time()
    prompt = memory.prompt()
    assert 900 <= prompt.token_count <= 1000
    assert prompt.messages[1]["content"].endswith("汉字 and words ")
    assert prompt.messages[1]["content"].startswith("[...")
    memory.add({"role": "assistant", "content": "ok"})
    memory.add({"role": "user", "content": "next"})
    assert [m["content"] for m in memory.messages()] == ["系统", "next"]
    assert time.process_time() - started < 5


def test_empty_messages() -> None:
    memory = hm.create_memory("sliding", counter=len)
    memory.add({"role": "user", "content": ""})
    memory.add({"role": "assistant", "content": None})
    memory.add({"role": "user", "content": []})
    assert memory.token_count == 3 + 15
    assert len(memory.messages()) == 3


FAMILY = "a👨‍👩‍👧‍👦e\u0301🇨🇳👍🏽中"


@pytest.mark.parametrize("role", ["user", "tool"])
def test_cuts_fall_between_characters(role) -> None:
    text = FAMILY * 200
    boundaries = {0, len(text)}
    at = 0
    for cluster in regex.findall(r"\X", text):
        at += len(cluster)
        boundaries.add(at)
    for budget in range(80, 200):
        memory = hm.create_memory("sliding", max_tokens=budget, counter=len, overhead="none")
        memory.add({"role": "user", "content": "q"})
        if role == "tool":
            call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            memory.add({"role": "assistant", "content": None, "tool_calls": [call]})
            memory.add({"role": "tool", "tool_call_id": "c", "content": text})
        else:
            memory.add({"role": "user", "content": text})
        got = memory.messages()[-1]["content"]
        assert memory.token_count <= budget
        before, _, rest = got.partition("[...")
        missing, _, after = rest.partition(" characters left out...]")
        head, tail = before.removesuffix("\n"), after[1:]
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(head) + int(missing) + len(tail) == len(text)
        assert {len(head), len(text) - len(tail)} <= boundaries
        if role == "tool":
            assert head
        assert memory.token_count > budget - 30  # no cut larger than it must be


def test_only_the_largest_text_is_cut() -> None:
    memory = hm.create_memory("sliding", max_tokens=400, counter=len, overhead="none")
    memory.add({"role": "user", "content": "the question"})
    made = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in ("a", "b")]
    memory.add({"role": "assistant", "content": None, "tool_calls": made})
    memory.add({"role": "tool", "tool_call_id": "a", "content": "x" * 8000})
    memory.add({"role": "tool", "tool_call_id": "b", "content": "short result"})
    prompt = memory.prompt()
    assert prompt.messages[0]["content"] == "the question"
    assert prompt.messages[3]["content"] == "short result"
    assert prompt.messages[2]["content"].startswith("xxx")
    assert prompt.messages[2]["content"].endswith("xxx")
    (shortened,) = [p for p in prompt.parts if p.kind == "shortened"]
    assert (shortened.first_seq, shortened.messages) == (3, 1)
    assert memory.messages(fixed_tokens=100)[2]["content"] != prompt.messages[2]["content"]


def test_text_parts_are_cut_and_other_parts_are_not() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:," + "A" * 5000}}
    memory = hm.create_memory("sliding", max_tokens=300, counter=len, part_tokens=100)
    memory.add({"role": "user", "content": [{"type": "text", "text": "y" * 500, "k": 1}, image, "z" * 20]})
    (got,) = memory.messages()
    assert got["content"][1] == image
    assert got["content"][0]["k"] == 1
    assert got["content"][0]["text"].endswith("yyy")
    assert got["content"][2] == "z" * 20
    assert memory.token_count <= 300


def test_texts_of_other_str_types_are_texts() -> None:
    class Text(str):
        pass

    class Role(str, enum.Enum):  # noqa: UP042 - what people have
        USER = "user"

    memory = hm.create_memory("sliding")
    memory.add({"role": Role.USER, "content": Text("hi"), Text("k"): [Text("v")]})
    (got,) = memory.messages()
    assert got == {"role": "user", "content": "hi", "k": ["v"]}
    assert {type(got["role"]), type(got["content"]), type(got["k"][0])} == {str}
    with pytest.raises(hm.HistoryError):
        memory.unpin(10**30)
