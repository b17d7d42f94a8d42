"""Each method over the wire, with the real memory behind it; the library in this process says what is right."""

from __future__ import annotations

from typing import Any

import pytest
from sidecar_process import Raw, Sidecar, Start

import harmony_mem as hm

WHO = {"user": "u", "session": "s"}
TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "You are a car."},
    {"role": "user", "content": "导航到浦东机场，谢谢 🙂", "x-extra": {"kept": [1, 2.5, None, True]}},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "route", "arguments": '{"to": "PVG"}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "42 km\0 and a NUL"},
    {"role": "assistant", "content": "到浦东机场 42 公里。"},
    {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "x"}}]},
]


def opened(raw: Raw, architecture: str = "sliding", **options: Any) -> Raw:
    assert raw.call("open", {**WHO, "architecture": architecture, "options": options})["created"] is True
    return raw


def code_of(answer: dict[str, Any]) -> str:
    assert "Traceback" not in answer["message"]
    code: str = answer["code"]
    return code


# ---------------------------------------------------------------------------------------------------- connection
def test_hello(raw: Raw) -> None:
    answer = raw.call("hello", {"protocol": 1, "client": "test"})
    assert set(answer) == {"protocol", "server", "limits", "features"}
    assert answer["protocol"] == 1
    assert answer["server"] == f"harmony_mem {hm.__version__}"
    assert answer["limits"]["frame_bytes"] == 16 * 1024 * 1024
    assert code_of(raw.call("hello", {"protocol": 2})) == "version"
    assert code_of(raw.call("hello", {})) == "bad_params"
    assert raw.call("ping", {}) == {}


@pytest.mark.parametrize("architecture", ["fixed", "sliding"])
def test_the_wire_and_the_library_agree(shared_raw: Raw, architecture: str) -> None:
    opened(shared_raw, architecture, max_tokens=600, reserve_tokens=0, part_tokens=30)
    memory = hm.create_memory(architecture, max_tokens=600, reserve_tokens=0, part_tokens=30)
    evicted = 0
    for turn in range(30):
        for message in TALK if turn == 0 else TALK[1:]:
            before = memory.evicted_count
            seq = memory.add(message, time=1000 + turn)
            answer = shared_raw.call("add", {**WHO, "message": message, "time": 1000 + turn})
            wanted = {
                "seq": seq,
                "token_count": memory.stored_tokens,
                "evicted": memory.evicted_count - before,
            }
            assert answer == wanted
            evicted += answer["evicted"]
        prompt = memory.prompt()
        assert shared_raw.call("messages", WHO) == {
            "messages": prompt.messages,
            "token_count": prompt.token_count,
            "exact": prompt.exact,
            "parts": [part.as_dict() for part in prompt.parts],
        }
        for style in ("plain", "chatml"):
            assert shared_raw.call("build_prompt", {**WHO, "style": style}) == {
                "prompt": memory.build_prompt(style),
                "token_count": prompt.token_count,
            }
    assert evicted > 50
    small = memory.prompt(fixed_tokens=300)
    answer = shared_raw.call("messages", {**WHO, "fixed_tokens": 300, "query": "anything"})
    assert answer["messages"] == small.messages
    assert len(small.messages) < len(prompt.messages)
    assert shared_raw.call("build_prompt", {**WHO, "fixed_tokens": 300})["token_count"] == small.token_count


def test_messages_come_back_unchanged(shared_raw: Raw) -> None:
    opened(shared_raw)
    for message in TALK:
        shared_raw.call("add", {**WHO, "message": message})
    assert shared_raw.call("messages", WHO)["messages"] == TALK


# ---------------------------------------------------------------------------------------------------- sessions
def test_open_again_keeps_what_is_there(sidecar: Sidecar, raw: Raw) -> None:
    opened(raw, "sliding", max_tokens=1000, overlap_tokens=100)
    count = raw.call("add", {**WHO, "message": TALK[1]})["token_count"]
    kept = {"created": False, "last_seq": 1, "token_count": count}
    other = sidecar.raw()
    for params in (
        WHO,
        {**WHO, "architecture": "sliding"},
        {**WHO, "architecture": None, "options": None},
        {**WHO, "architecture": "sliding", "options": {"max_tokens": 1000}},
        {**WHO, "options": {"overlap_tokens": 100, "max_tokens": 1000}},
    ):
        assert other.call("open", params) == kept
    for params in (
        {**WHO, "architecture": "fixed"},
        {**WHO, "architecture": "sliding", "options": {"max_tokens": 1001}},
        {**WHO, "options": {"reserve_tokens": 0}},
    ):
        answer = other.call("open", params)
        assert code_of(answer) == "bad_params"
        assert "configure" in answer["message"]
    assert raw.call("messages", WHO)["messages"] == [TALK[1]]
    other.close()


def test_configure_is_what_a_reopen_is_compared_with(shared_raw: Raw) -> None:
    opened(shared_raw, "sliding", max_tokens=1000)
    for _ in range(50):
        shared_raw.call("add", {**WHO, "message": TALK[1]})
    answer = shared_raw.call("configure", {**WHO, "architecture": "fixed", "options": {"max_tokens": 300}})
    memory = hm.create_memory("sliding", max_tokens=1000)
    for _ in range(50):
        memory.add(TALK[1])
    memory.configure("fixed", max_tokens=300)
    assert answer == {"architecture": "fixed", "token_count": memory.stored_tokens}
    assert shared_raw.call("open", {**WHO, "architecture": "fixed", "options": {"max_tokens": 300}})["created"] is False
    assert code_of(shared_raw.call("open", {**WHO, "options": {"max_tokens": 1000}})) == "bad_params"
    assert code_of(shared_raw.call("configure", {**WHO, "options": {"max_tokens": 0}})) == "bad_option"
    assert shared_raw.call("configure", WHO) == answer


def test_rooms_are_apart(sidecar: Sidecar) -> None:
    one, two = sidecar.raw(), sidecar.raw()
    places = [("u", "s"), ("u", "t"), ("v", "s"), ("u\0s", ""), ("us", "x"), ("U", "s"), ("u ", "s"), ("é", "s")]
    places[3] = ("u\0s", "x")
    places.append(("e\u0301", "s"))  # looks like the one before; another name all the same
    for number, (user, session) in enumerate(places):
        end = (one, two)[number % 2]
        assert end.call("open", {"user": user, "session": session, "architecture": "fixed"})["created"] is True
        end.call("add", {"user": user, "session": session, "message": {"role": "user", "content": f"m{number}"}})
    for number, (user, session) in enumerate(places):
        got = (two, one)[number % 2].call("messages", {"user": user, "session": session})
        assert got["messages"] == [{"role": "user", "content": f"m{number}"}]
    # No parameter reaches another namespace.
    assert code_of(one.call("messages", {**WHO, "namespace": "uid:0"})) == "bad_params"
    one.close()
    two.close()


def test_close_lets_a_session_go(shared_raw: Raw) -> None:
    opened(shared_raw)
    shared_raw.call("add", {**WHO, "message": TALK[1]})
    assert shared_raw.call("close", WHO) == {}
    for method, more in (("messages", {}), ("add", {"message": TALK[1]}), ("close", {}), ("rewind", {"after_seq": 0})):
        assert code_of(shared_raw.call(method, {**WHO, **more})) == "no_session"
    assert shared_raw.call("open", {**WHO, "architecture": "sliding"}) == {
        "created": True,
        "last_seq": 0,
        "token_count": 3,
    }
    assert shared_raw.call("messages", WHO)["messages"] == []


def test_session_limit(start: Start) -> None:
    raw = start("--sessions", "2").raw()
    for name in ("a", "b"):
        raw.call("open", {"user": "u", "session": name, "architecture": "fixed"})
    third = {"user": "u", "session": "c", "architecture": "fixed"}
    assert code_of(raw.call("open", third)) == "session_limit"
    assert raw.call("open", {"user": "u", "session": "a"})["created"] is False
    raw.call("close", {"user": "u", "session": "b"})
    assert raw.call("open", third)["created"] is True
    raw.close()


def test_bytes_per_session_are_limited(start: Start) -> None:
    raw = opened(start("--session-bytes", "100000").raw(), max_tokens=10_000_000)
    answers = [raw.call("add", {**WHO, "message": {"role": "user", "content": "x" * 1000}}) for _ in range(200)]
    stored = [answer for answer in answers if "seq" in answer]
    assert 30 < len(stored) < 100
    assert {code_of(answer) for answer in answers[len(stored) :]} == {"limit"}
    assert len(raw.call("messages", WHO)["messages"]) == len(stored)
    raw.close()


# ---------------------------------------------------------------------------------------------------- adding
def test_ids_times_and_pins(shared_raw: Raw) -> None:
    opened(shared_raw, "sliding", max_tokens=200, overlap_tokens=20)
    first = shared_raw.call("add", {**WHO, "message": TALK[1], "id": "订单-1", "time": 5, "pinned": True})
    again = shared_raw.call("add", {**WHO, "message": TALK[1], "id": "订单-1"})
    assert again == {**first, "evicted": 0}
    conflict = shared_raw.call("add", {**WHO, "message": TALK[4], "id": "订单-1"})
    assert (conflict["code"], conflict["details"]) == ("id_conflict", {"seq": 1})
    for _ in range(60):
        shared_raw.call("add", {**WHO, "message": {"role": "user", "content": "again and again"}})
    assert shared_raw.call("messages", WHO)["messages"][0] == TALK[1]
    assert shared_raw.call("unpin", {**WHO, "seq": 1})["token_count"] > 0
    assert TALK[1] not in shared_raw.call("messages", WHO)["messages"]


def test_rewind(shared_raw: Raw) -> None:
    opened(shared_raw)
    for message in TALK[:2]:
        shared_raw.call("add", {**WHO, "message": message, "id": message["role"]})
    before = shared_raw.call("messages", WHO)
    count = shared_raw.call("stats", WHO)["stored_tokens"]
    for message in TALK[2:]:
        shared_raw.call("add", {**WHO, "message": message})
    assert shared_raw.call("rewind", {**WHO, "after_seq": 2}) == {"token_count": count}
    assert shared_raw.call("messages", WHO) == before
    assert shared_raw.call("add", {**WHO, "message": TALK[4]})["seq"] == len(TALK) + 1
    assert code_of(shared_raw.call("rewind", {**WHO, "after_seq": 99})) == "history"
    assert code_of(shared_raw.call("unpin", {**WHO, "seq": 99})) == "history"


def test_add_many(shared_raw: Raw) -> None:
    opened(shared_raw)
    answer = shared_raw.call("add_many", {**WHO, "messages": [{"message": m, "time": i} for i, m in enumerate(TALK)]})
    memory = hm.create_memory("sliding")
    seqs = [memory.add(message) for message in TALK]
    assert answer == {"seqs": seqs, "token_count": memory.stored_tokens, "evicted": 0}
    assert shared_raw.call("messages", WHO)["messages"] == TALK
    assert shared_raw.call("add_many", {**WHO, "messages": []})["seqs"] == []


BAD_ITEMS = [
    (5, "bad_params"),
    ({}, "bad_params"),
    ({"message": "text"}, "bad_params"),
    ({"message": TALK[1], "idd": "x"}, "bad_params"),
    ({"message": TALK[1], "time": -1}, "bad_params"),
    ({"message": TALK[1], "pinned": 1}, "bad_params"),
    ({"message": {"role": "robot", "content": ""}}, "message_invalid"),
    ({"message": {"role": "user", "content": "x" * 2_000_000}}, "message_too_large"),
    ({"message": TALK[4], "id": "known"}, "id_conflict"),
]


@pytest.mark.parametrize(("item", "code"), BAD_ITEMS)
@pytest.mark.parametrize("batch", [2, 300])
def test_add_many_stores_all_or_nothing(shared_raw: Raw, item: Any, code: str, batch: int) -> None:
    # A budget that a large batch overruns: what it evicted has to come back.
    opened(shared_raw, "sliding", max_tokens=300)
    shared_raw.call("add", {**WHO, "message": TALK[0]})
    shared_raw.call("add", {**WHO, "message": TALK[1], "id": "known"})
    shared_raw.call("add", {**WHO, "message": TALK[2]})
    before = shared_raw.call("messages", WHO)
    del before["parts"]  # what was evicted on the way stays counted
    stored = shared_raw.call("stats", WHO)["stored_tokens"]
    result = {"message": TALK[3]}
    good = [{"message": {"role": "user", "content": f"new {n}"}, "id": f"id{n}"} for n in range(batch)]
    answer = shared_raw.call("add_many", {**WHO, "messages": [result, *good, item, *good[:2]]})
    assert code_of(answer) == code
    assert f"messages[{batch + 1}]" in answer["message"]
    after = shared_raw.call("messages", WHO)
    assert {name: after[name] for name in before} == before
    assert shared_raw.call("stats", WHO)["stored_tokens"] == stored
    # The open call is open again, and the ids of the batch are free.
    answer = shared_raw.call("add_many", {**WHO, "messages": [result, {"message": TALK[4], "id": "id0"}]})
    assert len(answer["seqs"]) == 2
    assert shared_raw.call("messages", WHO)["messages"] == TALK[:5]


def test_add_many_that_cannot_be_undone_says_so(shared_raw: Raw) -> None:
    opened(shared_raw, "sliding", max_tokens=100, history_bytes=0)
    shared_raw.call("add", {**WHO, "message": TALK[1]})
    items: list[dict[str, Any]] = [{"message": {"role": "user", "content": f"new {n}"}} for n in range(100)]
    answer = shared_raw.call("add_many", {**WHO, "messages": [*items, {"message": {"role": "x"}}]})
    assert code_of(answer) == "history"
    assert answer["message"].startswith("messages[100]: ")
    assert "the 100 before it stay stored" in answer["message"]
    assert shared_raw.call("stats", WHO)["last_seq"] == 101
    assert shared_raw.call("messages", WHO)["messages"][-1]["content"] == "new 99"


def test_add_many_into_an_empty_session(shared_raw: Raw) -> None:
    opened(shared_raw)
    answer = shared_raw.call("add_many", {**WHO, "messages": [{"message": TALK[1]}, {"message": {"role": "x"}}]})
    assert code_of(answer) == "message_invalid"
    assert shared_raw.call("messages", WHO)["messages"] == []
    shared_raw.call("add", {**WHO, "message": TALK[4]})


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"role": "user"},
        {"role": "User", "content": "x"},
        {"role": "user", "content": 5},
        {"role": None, "content": "x"},
        {"role": "assistant", "content": "x", "tool_calls": "none"},
        {"role": "tool", "content": "a result without an id"},
        {"content": "x"},
    ],
)
def test_what_is_no_message(shared_raw: Raw, message: dict[str, Any]) -> None:
    opened(shared_raw)
    assert code_of(shared_raw.call("add", {**WHO, "message": message})) == "message_invalid"
    assert shared_raw.call("stats", WHO)["last_seq"] == 0


def test_large_messages(raw: Raw) -> None:
    opened(raw)
    fits = {"role": "user", "content": "x" * ((1 << 20) - 40)}
    assert raw.call("add", {**WHO, "message": fits})["seq"] == 1
    for text in ("x" * (1 << 20), "长" * 400_000, "z" * 10_000_000):
        answer = raw.call("add", {**WHO, "message": {"role": "user", "content": text}})
        assert code_of(answer) == "message_too_large"
        assert "limits.message_bytes" in answer["message"]
    assert raw.call("add", {**WHO, "message": {"role": "assistant", "content": ""}})["seq"] == 2
    # Far above the budget: shortened in the prompt, not refused.
    got = raw.call("messages", WHO)
    assert got["token_count"] <= 4096
    assert got["messages"][1] == {"role": "assistant", "content": ""}


def test_oversize_refuse_is_an_error_with_its_figures(shared_raw: Raw) -> None:
    opened(shared_raw, "sliding", max_tokens=100, oversize="refuse")
    answer = shared_raw.call("add", {**WHO, "message": {"role": "user", "content": "word " * 1000}})
    assert code_of(answer) == "message_too_large"
    assert answer["details"]["budget"] == 100
    assert answer["details"]["needed"] > 100


def test_a_prompt_that_cannot_be_made(shared_raw: Raw) -> None:
    opened(shared_raw, "sliding", max_tokens=50)
    answer = shared_raw.call("add", {**WHO, "message": {"role": "system", "content": "rule " * 500}})
    assert answer["token_count"] > 50
    for method in ("messages", "build_prompt"):
        answer = shared_raw.call(method, WHO)
        assert code_of(answer) == "budget"
        assert set(answer["details"]) == {"budget", "needed", "parts", "seq"}
        assert answer["details"]["budget"] == 50
    assert shared_raw.call("configure", {**WHO, "options": {"max_tokens": 5000}})["token_count"] > 50
    assert len(shared_raw.call("messages", WHO)["messages"]) == 1


# ---------------------------------------------------------------------------------------------------- parameters
@pytest.mark.parametrize(
    ("method", "params", "code", "says"),
    [
        ("mesages", {}, "unknown_method", "'messages'"),
        ("", {}, "unknown_method", "''"),
        ("__class__", {}, "unknown_method", "__class__"),
        ("call", {}, "unknown_method", "call"),
        ("x" * 100_000, {}, "unknown_method", "xxx..."),
        ("ping", {"x": 1}, "bad_params", "'x'"),
        ("add", {"user": "u", "session": "s"}, "bad_params", "message is missing"),
        ("add", {"user": "u", "message": {}}, "bad_params", "session is missing"),
        ("add", {**WHO, "mesage": {}}, "bad_params", "did you mean 'message'"),
        ("add", {**WHO, "message": []}, "bad_params", "message must be a map, not a list"),
        ("add", {**WHO, "message": {}, "pinned": "yes"}, "bad_params", "pinned must be true or false, not 'yes'"),
        ("add", {**WHO, "message": {}, "id": 7}, "bad_params", "id must be a text that is not empty, not 7"),
        ("add", {**WHO, "message": {}, "time": 1.5}, "bad_params", "time must be"),
        ("add", {**WHO, "user": "", "message": {}}, "bad_params", "user must be a text that is not empty"),
        ("add", {**WHO, "user": None, "message": {}}, "bad_params", "user must be a text that is not empty, not nil"),
        ("add", {**WHO, "user": "u" * 257, "message": {}}, "bad_params", "257 characters"),
        ("add", {**WHO, "u" * 100_000: 1}, "bad_params", "unknown parameter"),
        ("rewind", {**WHO, "after_seq": -1}, "bad_params", "after_seq must be an integer of at least 0, not -1"),
        ("rewind", {**WHO, "after_seq": True}, "bad_params", "not true or false"),
        ("rewind", {**WHO, "after_seq": 1 << 63}, "bad_params", "after_seq must be"),
        ("build_prompt", {**WHO, "style": "json"}, "bad_params", '"plain" or "chatml"'),
        ("build_prompt", {**WHO, "style": {}}, "bad_params", "a map"),
        ("messages", {**WHO, "query": 1}, "bad_params", "query must be a text"),
        ("messages", {**WHO, "fixed_tokens": -1}, "bad_params", "fixed_tokens"),
        ("stats", {"user": "u"}, "bad_params", "both user and session"),
        ("open", WHO | {"session": "new"}, "bad_params", "architecture is missing"),
        ("open", WHO | {"architecture": 1}, "bad_params", "architecture must be the name of a memory, not 1"),
        ("open", WHO | {"options": []}, "bad_params", "options must be a map"),
    ],
)
def test_wrong_parameters(shared_raw: Raw, method: str, params: dict[str, Any], code: str, says: str) -> None:
    opened(shared_raw)
    answer = shared_raw.call(method, params)
    assert code_of(answer) == code
    assert says in answer["message"]
    assert len(answer["message"]) < 400
    assert shared_raw.call("ping", {}) == {}


@pytest.mark.parametrize(
    ("architecture", "options", "code", "says"),
    [
        ("sliding", {"max_token": 5}, "unknown_option", "did you mean 'max_tokens'"),
        ("sliding", {"clock": 5}, "unknown_option", "clock"),
        ("sliding", {"limit_bytes": 1 << 40}, "unknown_option", "limit_bytes"),
        ("sliding", {"codec": "x"}, "unknown_option", "codec"),
        ("sliding", {"o" * 100_000: 1}, "unknown_option", "ooo"),
        ("sliding", {"counter": "/etc/passwd"}, "bad_option", "over the wire"),
        ("sliding", {"counter": {}}, "bad_option", "over the wire"),
        ("sliding", {"max_turns": 5}, "bad_option", "max_turns"),
        ("sliding", {"max_tokens": 0}, "bad_option", "max_tokens"),
        ("sliding", {"max_tokens": -5}, "bad_option", "max_tokens"),
        ("sliding", {"max_tokens": "100"}, "bad_option", "max_tokens"),
        ("sliding", {"max_tokens": 1e3}, "bad_option", "max_tokens"),
        ("sliding", {"max_tokens": True}, "bad_option", "max_tokens"),
        ("sliding", {"max_tokens": 100, "overlap_tokens": 100}, "bad_option", "overlap_tokens"),
        ("sliding", {"preset": "p" * 100_000}, "bad_option", "preset"),
        ("sliding", {"preset": "cat"}, "bad_option", "'car'"),
        ("fixed", {"overlap_tokens": 1}, "bad_option", "overlap_tokens"),
        ("fixed", {"oversize": "drop"}, "bad_option", "oversize"),
        ("slidng", {}, "bad_option", "'sliding'"),
        ("a" * 64, {}, "bad_option", "aaa"),
        ("a" * 65, {}, "bad_params", "the name of a memory, not a text"),
    ],
)
@pytest.mark.parametrize("how", ["open", "configure"])
def test_wrong_options(
    shared_raw: Raw, how: str, architecture: str, options: dict[str, Any], code: str, says: str
) -> None:
    if how == "configure":
        opened(shared_raw)
    answer = shared_raw.call(how, {**WHO, "architecture": architecture, "options": options})
    assert code_of(answer) == code
    assert says in answer["message"]
    if how == "open":
        assert code_of(shared_raw.call("messages", WHO)) == "no_session"
    else:
        assert shared_raw.call("open", {**WHO, "architecture": "sliding"})["created"] is False


def test_every_option_of_the_library_is_known_to_the_wire() -> None:
    from harmony_mem.memory import ARCHITECTURES
    from harmony_mem.memory.options import COMMON
    from harmony_mem.sidecar.sessions import COUNTERS, OPTIONS

    known = {*COMMON, "preset"}.union(*(cls.own_options for cls in ARCHITECTURES.values()))
    assert sorted(OPTIONS) == OPTIONS
    assert known - set(OPTIONS) == {"clock", "limit_bytes"}
    assert set(OPTIONS) <= known
    for name in COUNTERS:
        hm.create_memory("fixed", counter=name).close()


# ---------------------------------------------------------------------------------------------------- the whole
def test_stats_of_the_sidecar(sidecar: Sidecar, raw: Raw) -> None:
    opened(raw)
    raw.call("nothing", {})
    answer = raw.call("stats", {})
    assert answer["version"] == hm.__version__
    assert answer["pid"] == sidecar.process.pid
    assert answer["sessions"] == 1
    assert answer["connections"] == 1
    assert answer["requests"] == 3
    assert answer["errors"] == {"unknown_method": 1}
    assert raw.call("stats", WHO)["architecture"] == "sliding"


def test_only_the_owner_and_root_may_end_it() -> None:
    from harmony_mem.errors import SidecarError
    from harmony_mem.sidecar import codec
    from harmony_mem.sidecar.dispatch import Dispatcher
    from harmony_mem.sidecar.limits import DEFAULTS
    from harmony_mem.sidecar.sessions import Sessions

    class Control:
        version = "0"
        stopped = 0

        def stop(self) -> None:
            self.stopped += 1

        def counters(self) -> dict[str, Any]:
            return {}

    class Peer:
        def __init__(self, uid: int, *, privileged: bool) -> None:
            self.namespace = f"uid:{uid}"
            self.privileged = privileged

    control = Control()
    dispatcher = Dispatcher(Sessions(DEFAULTS, codec.pack, codec.unpack), DEFAULTS, control)
    stranger, owner = Peer(5000, privileged=False), Peer(1000, privileged=True)
    for method in ("shutdown", "stats"):
        with pytest.raises(SidecarError) as caught:
            dispatcher.call(stranger, method, {})
        assert caught.value.code == "forbidden"
    assert control.stopped == 0
    # Another uid never reaches a session of this one, by whatever name.
    dispatcher.call(owner, "open", {**WHO, "architecture": "fixed"})
    with pytest.raises(SidecarError) as caught:
        dispatcher.call(stranger, "messages", WHO)
    assert caught.value.code == "no_session"
    assert dispatcher.call(stranger, "open", {**WHO, "architecture": "fixed"})["created"] is True
    dispatcher.call(owner, "shutdown", {})
    assert control.stopped == 1
