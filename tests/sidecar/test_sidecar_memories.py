"""The four memories behind the wire, recall, and what listeners are told."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest
from sidecar_process import Raw, Sidecar, Start, wait_until

import harmony_mem as hm
from harmony_mem.memory.condensing import CATCH_UP
from harmony_mem.sidecar.client import Client
from harmony_mem.sidecar.connection import Connection

WHO = {"user": "u", "session": "s"}
FOUR = ["fixed", "sliding", "summary", "layered"]
SMALL: dict[str, dict[str, Any]] = {
    "fixed": {"max_tokens": 700, "reserve_tokens": 0},
    "sliding": {"max_tokens": 700},
    "summary": {"max_tokens": 700, "max_recent_tokens": 200, "summary_token_limit": 150, "summarizer": "extractive"},
    "layered": {"max_tokens": 700, "max_short": 8, "keep_recent": 4, "summary_token_limit": 150, "half_life": 86400},
}
NEWS = CATCH_UP  # evicted messages after which an add condenses


def turn(n: int) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": f"第{n}次：我叫王{n}，订单号 A{1000 + n}，预算 {n * 100} 元。"},
        {"role": "assistant", "content": f"好的，王{n}，订单 A{1000 + n} 已经记下，送货地址是和平路 {n} 号。"},
    ]


def opened(raw: Raw, architecture: str, *, session: str = "s", notify: bool | None = None, **options: Any) -> Raw:
    who = {"user": "u", "session": session}
    params = {**who, "architecture": architecture, "options": {**SMALL[architecture], **options}, "notify": notify}
    assert raw.call("open", params)["created"] is True
    return raw


def fill(raw: Raw, first: int, last: int) -> int:
    """Adds the turns first to last - 1; how many messages they evicted."""
    items = [{"message": m, "time": n * 60_000} for n in range(first, last) for m in turn(n)]
    evicted: int = raw.call("add_many", {**WHO, "messages": items})["evicted"]
    return evicted


def refused(raw: Raw, method: str, **params: Any) -> tuple[str, str]:
    answer = raw.call(method, {**WHO, **params})
    return answer["code"], answer["message"]


# ---------------------------------------------------------------------------------------------------- the four
@pytest.mark.parametrize("architecture", FOUR)
def test_the_wire_and_the_library_agree(shared_raw: Raw, architecture: str) -> None:
    opened(shared_raw, architecture)
    memory = hm.create_memory(architecture, **SMALL[architecture])
    kinds = set()
    for n in range(25):
        for message in turn(n):
            answer = shared_raw.call("add", {**WHO, "message": message, "time": n * 60_000})
            assert answer["seq"] == memory.add(message, time=n * 60_000)
        for query in (None, "王3 的订单号"):
            prompt = memory.prompt(query)
            assert shared_raw.call("messages", {**WHO, "query": query}) == {
                "messages": prompt.messages,
                "token_count": prompt.token_count,
                "exact": prompt.exact,
                "parts": [part.as_dict() for part in prompt.parts],
            }
            assert prompt.token_count <= 700
            kinds |= {part.kind for part in prompt.parts}
        for style in ("plain", "chatml"):
            assert shared_raw.call("build_prompt", {**WHO, "style": style}) == {
                "prompt": memory.build_prompt(style),
                "token_count": memory.token_count,
            }
    wanted = {"fixed": set(), "sliding": set(), "summary": {"summary"}, "layered": {"summary", "recalled"}}
    assert kinds & {"summary", "recalled"} == wanted[architecture]


def test_switching_loses_nothing(shared_raw: Raw) -> None:
    opened(shared_raw, "summary")
    fill(shared_raw, 0, 30)
    before = shared_raw.call("messages", WHO)
    block = before["messages"][0]
    assert block["role"] == "system"
    assert "A1000" in block["content"]  # the first turn left long ago
    covered = [p for p in before["parts"] if p["kind"] == "summary"]
    assert covered[0]["first_seq"] == 1
    for architecture in ("sliding", "layered", "summary"):
        answer = shared_raw.call("configure", {**WHO, "architecture": architecture})
        assert answer["architecture"] == architecture
        assert shared_raw.call("open", {**WHO, "architecture": architecture})["last_seq"] == 60
        now = shared_raw.call("messages", WHO)
        assert now["token_count"] <= 700
        assert now["messages"][-1] == turn(29)[1]
        if architecture == "sliding":
            assert all(m["role"] != "system" for m in now["messages"])
    assert now["messages"][0] == block
    assert [p for p in now["parts"] if p["kind"] == "summary"] == covered
    # The words themselves are there still, and seqs go on.
    shared_raw.call("configure", {**WHO, "architecture": "sliding", "options": {"max_tokens": 9000}})
    talk = [m for n in range(30) for m in turn(n)]
    assert shared_raw.call("messages", WHO)["messages"] == talk
    assert shared_raw.call("add", {**WHO, "message": turn(30)[0]})["seq"] == 61


@pytest.mark.parametrize("last", ["summary", "layered"])
@pytest.mark.parametrize("meanwhile", FOUR)
@pytest.mark.parametrize("first", ["summary", "layered"])
def test_a_rewind_reaches_every_summary(shared_raw: Raw, first: str, meanwhile: str, last: str) -> None:
    """Whatever runs when it comes: what was set aside is in no prompt again."""
    opened(shared_raw, first, history_bytes=4 << 20)
    for n in range(0, 40, 4):
        fill(shared_raw, n, n + 4)
        shared_raw.call("messages", WHO)
    shared_raw.call("configure", {**WHO, "architecture": meanwhile})
    shared_raw.call("messages", WHO)
    assert set(shared_raw.call("rewind", {**WHO, "after_seq": 6})) == {"token_count"}
    shared_raw.call("configure", {**WHO, "architecture": last})
    text = shared_raw.call("build_prompt", WHO)["prompt"]
    assert "A1002" in text  # turn 2 is the last one that stays
    assert [n for n in range(3, 40) if f"A{1000 + n}" in text] == []
    fill(shared_raw, 50, 80)
    text = shared_raw.call("build_prompt", {**WHO, "query": "订单 A1005 A1052"})["prompt"]
    assert "A1079" in text
    assert [n for n in range(3, 40) if f"A{1000 + n}" in text] == []


@pytest.mark.parametrize(
    ("architecture", "options", "says"),
    [
        ("summary", {"summarizer": "chat"}, "'extractive' over the wire"),
        ("summary", {"summarizer": ["extractive"]}, "'extractive' over the wire"),
        ("summary", {"summarizer": 5}, "'extractive' over the wire"),
        ("sliding", {"summarizer": "extractive"}, "summarizer"),
        ("summary", {"summary_token_limit": -1}, "summary_token_limit"),
        ("summary", {"summary_placement": "last"}, "'own', 'merged'"),
        ("summary", {"cooldown": -0.5}, "cooldown"),
        ("summary", {"timeout": 0}, "timeout"),
        ("summary", {"max_recent_tokens": 0}, "max_recent_tokens"),
        ("summary", {"keep_recent": True}, "keep_recent"),
        ("summary", {"max_short": 5}, "max_short"),
        ("layered", {"max_short": "many"}, "max_short"),
        ("layered", {"recall_tokens": "all"}, "rest"),
        ("layered", {"recall_tokens": -1}, "recall_tokens"),
        ("layered", {"half_life": 0}, "half_life"),
        ("layered", {"max_recent_tokens": 5}, "max_recent_tokens"),
    ],
)
def test_options_that_are_refused(shared_raw: Raw, architecture: str, options: dict[str, Any], says: str) -> None:
    code, text = refused(shared_raw, "open", architecture=architecture, options=options)
    assert code == "bad_option"
    assert says in text
    opened(shared_raw, "fixed")
    assert refused(shared_raw, "configure", architecture=architecture, options=options) == (code, text)
    assert shared_raw.call("stats", WHO)["architecture"] == "fixed"


def test_options_that_are_taken(shared_raw: Raw) -> None:
    options = {
        "summarizer": "extractive",
        "summary_token_limit": 100,
        "summary_placement": "merged",
        "cooldown": 0.5,
        "timeout": 3,
        "max_short": 5,
        "keep_recent": 2,
        "recall_tokens": 50,
        "half_life": 3600.5,
    }
    opened(shared_raw, "layered", **options)
    assert shared_raw.call("open", {**WHO, "options": options})["created"] is False
    assert refused(shared_raw, "open", options={"recall_tokens": "rest"})[0] == "bad_params"
    shared_raw.call("configure", {**WHO, "options": {"recall_tokens": "rest", "half_life": None, "summarizer": None}})
    assert shared_raw.call("open", {**WHO, "options": {"recall_tokens": "rest"}})["created"] is False


@pytest.mark.parametrize("architecture", ["summary", "layered"])
def test_adding_does_not_wait_for_the_summariser(shared_raw: Raw, architecture: str) -> None:
    opened(shared_raw, architecture)
    evicted, n = 0, 0
    first = -1  # condensed when the first messages left: the layered memory makes room for recall then, once
    while evicted < NEWS - 20:
        for message in turn(n):
            evicted += shared_raw.call("add", {**WHO, "message": message})["evicted"]
            condensed = shared_raw.call("stats", WHO)["condensed_messages"]
            if evicted and first < 0:
                first = condensed
            assert condensed == max(first, 0)
        n += 1
    assert first == 0 if architecture == "summary" else first <= 20
    shared_raw.call("messages", WHO)
    assert shared_raw.call("stats", WHO)["condensed_messages"] >= evicted
    while evicted < 8 * NEWS + 20:  # and nobody has to ask for a prompt: what waits is bounded
        for message in turn(n):
            evicted += shared_raw.call("add", {**WHO, "message": message})["evicted"]
        n += 1
    assert shared_raw.call("stats", WHO)["condensed_messages"] > NEWS


@pytest.mark.parametrize("architecture", ["summary", "layered"])
def test_documented_errors_keep_their_codes(shared_raw: Raw, architecture: str) -> None:
    opened(shared_raw, architecture)
    fill(shared_raw, 0, 20)
    shared_raw.call("messages", WHO)
    shared_raw.call("configure", {**WHO, "options": {"max_tokens": 20}})
    for method in ("messages", "build_prompt"):
        answer = shared_raw.call(method, WHO)
        if "code" in answer:
            assert answer["code"] == "budget"
            assert answer["details"]["budget"] == 20
        else:
            assert answer["token_count"] <= 20
    shared_raw.call("configure", {**WHO, "options": {"fixed_tokens": 19}})
    for method in ("messages", "build_prompt"):
        assert shared_raw.call(method, WHO)["details"]["budget"] == 20
    shared_raw.call("configure", {**WHO, "options": {"max_tokens": 700, "fixed_tokens": 0, "oversize": "refuse"}})
    answer = shared_raw.call("add", {**WHO, "message": {"role": "user", "content": "字" * 5000}})
    assert answer["code"] == "message_too_large"
    assert answer["details"]["budget"] == 700
    assert refused(shared_raw, "rewind", after_seq=999)[0] == "history"
    assert refused(shared_raw, "add", message={"role": "user"})[0] == "message_invalid"
    assert shared_raw.call("messages", WHO)["token_count"] <= 700


@pytest.mark.parametrize("architecture", FOUR)
def test_a_batch_is_taken_back_whole(shared_raw: Raw, architecture: str) -> None:
    opened(shared_raw, architecture, history_bytes=4 << 20)
    fill(shared_raw, 0, 12)
    before = shared_raw.call("messages", WHO)["messages"]
    items: list[dict[str, Any]] = [{"message": m} for n in range(12, 12 + NEWS) for m in turn(n)]
    code, text = refused(shared_raw, "add_many", messages=[*items, {"message": {"role": "nobody"}}])
    assert code == "message_invalid"
    assert f"messages[{len(items)}]" in text
    assert shared_raw.call("messages", WHO)["messages"] == before


# ---------------------------------------------------------------------------------------------------- recall
def test_recall(shared_raw: Raw) -> None:
    opened(shared_raw, "layered", half_life=None)
    shared_raw.call("add", {**WHO, "message": {"role": "user", "content": "我对花生过敏。"}, "time": 5000})
    fill(shared_raw, 0, 20)
    answer = shared_raw.call("recall", {**WHO, "query": "花生过敏"})
    assert set(answer) == {"items"}
    best = answer["items"][0]
    assert set(best) == {"text", "first_seq", "last_seq", "time", "score"}
    assert best["text"] == "我对花生过敏。"
    assert (best["first_seq"], best["last_seq"], best["time"]) == (1, 1, 5000)
    assert best["score"] > 0
    many = shared_raw.call("recall", {**WHO, "query": "订单号", "k": 1000, "scope": "session"})["items"]
    assert len(many) > 5
    assert [i["score"] for i in many] == sorted((i["score"] for i in many), reverse=True)
    assert shared_raw.call("recall", {**WHO, "query": "订单号", "k": None})["items"] == many[:5]
    assert shared_raw.call("recall", {**WHO, "query": "订单号", "k": 3})["items"] == many[:3]
    for nothing in ("", "   ", "zebra", "\0"):
        assert shared_raw.call("recall", {**WHO, "query": nothing})["items"] == []
    assert shared_raw.call("recall", {**WHO, "query": "花生" + "的" * 1_000_000})["items"][0]["first_seq"] == 1


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({}, "query is missing"),
        ({"query": None}, "query must be a text"),
        ({"query": "x", "k": 0}, "k must be an integer from 1 to 1000, not 0"),
        ({"query": "x", "k": 1001}, "k must be"),
        ({"query": "x", "k": True}, "k must be"),
        ({"query": "x", "k": 1.0}, "k must be"),
        ({"query": "x", "scope": "user"}, "scope must be \"session\", not 'user'"),
        ({"query": "x", "scope": []}, "scope must be"),
    ],
)
def test_wrong_recalls(shared_raw: Raw, params: dict[str, Any], says: str) -> None:
    opened(shared_raw, "layered")
    code, text = refused(shared_raw, "recall", **params)
    assert code == "bad_params"
    assert says in text


@pytest.mark.parametrize("architecture", ["fixed", "sliding", "summary"])
def test_only_layered_recalls(shared_raw: Raw, architecture: str) -> None:
    opened(shared_raw, architecture)
    fill(shared_raw, 0, 20)
    code, text = refused(shared_raw, "recall", query="订单号")
    assert code == "bad_params"
    assert "'layered'" in text
    assert "configure" in text
    shared_raw.call("configure", {**WHO, "architecture": "layered"})
    assert shared_raw.call("recall", {**WHO, "query": "A1000"})["items"][0]["first_seq"] in (1, 2)


# ---------------------------------------------------------------------------------------------------- notifications
def test_nobody_is_told_unasked(shared_raw: Raw) -> None:
    opened(shared_raw, "summary")
    assert fill(shared_raw, 0, 20) > 0
    shared_raw.call("messages", WHO)  # Raw.call takes no frame but the answer
    shared_raw.call("ping", {})


def test_evictions_are_told_after_the_answer(shared_raw: Raw) -> None:
    opened(shared_raw, "sliding", notify=True)
    told = []
    for n in range(20):
        for message in turn(n):
            evicted = shared_raw.call("add", {**WHO, "message": message})["evicted"]
            if evicted:
                method, params = shared_raw.told()
                assert method == "evicted"
                assert params == {**WHO, "count": evicted, "last_seq": params["last_seq"]}
                told.append(params["last_seq"])
    # What the window holds begins right after what was told last.
    window = next(p for p in shared_raw.call("messages", WHO)["parts"] if p["kind"] == "window")
    assert window["first_seq"] == told[-1] + 1
    assert told == sorted(set(told))
    assert len(told) > 2
    evicted = fill(shared_raw, 20, 30)
    assert shared_raw.told()[1]["count"] == evicted
    shared_raw.call("configure", {**WHO, "options": {"max_tokens": 200}})
    assert shared_raw.told()[0] == "evicted"
    shared_raw.call("ping", {})


def test_summaries_are_told_when_they_are_made(shared_raw: Raw) -> None:
    opened(shared_raw, "summary", notify=True)
    items = [{"message": m} for n in range(20) for m in turn(n)]
    first = shared_raw.send_request("add_many", {**WHO, "messages": items})
    second = shared_raw.send_request("messages", WHO)
    third = shared_raw.send_request("messages", WHO)
    assert shared_raw.read()[1] == first
    assert shared_raw.told()[0] == "evicted"
    _, number, error, answer = shared_raw.read()
    assert (number, error) == (second, None)
    method, params = shared_raw.told()
    if method == "evicted":  # the start of the window moved too
        method, params = shared_raw.told()
    assert method == "summarized"
    summary = next(p for p in answer["parts"] if p["kind"] == "summary")
    assert params == {**WHO, "covered": [[1, summary["last_seq"]]], "tokens": summary["tokens"]}
    assert shared_raw.read()[1] == third  # which condensed nothing
    # A summary that comes back with its architecture is no news; nor is what a rewind takes away.
    shared_raw.call("configure", {**WHO, "architecture": "sliding"})
    shared_raw.call("configure", {**WHO, "architecture": "summary"})
    shared_raw.call("rewind", {**WHO, "after_seq": 10})
    shared_raw.call("ping", {})


def test_a_batch_that_is_taken_back_is_no_news(shared_raw: Raw) -> None:
    opened(shared_raw, "sliding", notify=True, history_bytes=4 << 20)
    items: list[dict[str, Any]] = [{"message": m} for n in range(50) for m in turn(n)]
    assert refused(shared_raw, "add_many", messages=[*items, {"message": {}}])[0] == "message_invalid"
    shared_raw.call("ping", {})
    fill(shared_raw, 0, 50)
    assert shared_raw.told()[0] == "evicted"
    shared_raw.call("ping", {})


def test_who_listens(sidecar: Sidecar) -> None:
    one, two, three = sidecar.raw(), sidecar.raw(), sidecar.raw()
    opened(one, "sliding")
    fill(one, 0, 20)
    assert two.call("open", {**WHO, "notify": True})["created"] is False
    opened(three, "sliding", session="other", notify=True)
    evicted = fill(one, 20, 40)
    assert two.told()[1]["count"] == evicted  # of this call alone: what was before is no news
    assert two.call("open", WHO)["created"] is False  # not given: as it was
    evicted = fill(one, 40, 60)
    assert two.told()[1]["count"] == evicted
    assert two.call("open", {**WHO, "notify": False})["created"] is False
    fill(one, 60, 80)
    two.call("ping", {})
    three.call("ping", {})
    one.call("ping", {})
    # It ends with the session, whoever closes it.
    two.call("open", {**WHO, "notify": True})
    one.call("close", WHO)
    opened(one, "sliding")
    fill(one, 0, 40)
    two.call("ping", {})
    # A wrong request subscribes nobody.
    assert refused(two, "open", architecture="fixed", notify=True)[0] == "bad_params"
    assert refused(two, "open", notify="yes")[0] == "bad_params"
    fill(one, 40, 60)
    two.call("ping", {})


def test_a_listener_that_leaves(sidecar: Sidecar) -> None:
    one = sidecar.raw()
    opened(one, "sliding")
    for how in ("close", "reset"):
        with sidecar.raw() as listener:
            listener.call("open", {**WHO, "notify": True})
            if how == "reset":
                listener.send_request("ping", {})  # its answer is never read: the kernel resets the connection
        fill(one, 0, 20)
        wait_until(lambda: one.call("stats", {})["connections"] == 1)
        fill(one, 0, 20)
    # The other way round: who caused it is gone before the answer, and the listener hears of it all the same.
    listener = sidecar.raw()
    listener.call("open", {**WHO, "notify": True})
    one.send_request("add_many", {**WHO, "messages": [{"message": m} for n in range(50) for m in turn(n)]})
    one.close()
    assert listener.told()[0] == "evicted"


def test_a_listener_that_does_not_read(start: Start) -> None:
    sidecar = start("--notifications", "5", "--stall-seconds", "1")
    one, listener = sidecar.raw(), sidecar.raw()
    # Long names make long notifications, so that the kernel's buffer is full soon.
    who = {"user": "u" * 256, "session": "长" * 256}
    one.call("open", {**who, "architecture": "fixed", "options": {"max_messages": 1}})
    listener.call("open", {**who, "notify": True})
    message = {"role": "user", "content": "x"}
    sent = 0
    while one.call("stats", {})["notifications_dropped"] < 50:
        for _ in range(50):
            one.call("add", {**who, "message": message})
        sent += 50
        assert sent < 20_000
    stats = one.call("stats", {})
    assert stats["notifications"] + stats["notifications_dropped"] == sent - 1  # the first one evicted nothing
    time.sleep(2.2)  # longer than a client may stall
    one.call("ping", {})
    listener.send_request("ping", {})
    told = 0
    while (frame := listener.frame())[0] == 2:
        assert frame[1] == "evicted"
        told += 1
    assert frame[:3] == [1, 2, None]
    assert told == stats["notifications"]
    one.call("add", {**who, "message": message})
    assert listener.told()[1]["last_seq"] == sent
    # The end does not wait for a listener that does not read.
    while one.call("stats", {})["notifications_dropped"] < stats["notifications_dropped"] + 50:
        for _ in range(50):
            one.call("add", {**who, "message": message})
    begin = time.monotonic()
    assert sidecar.stop() == 0
    assert time.monotonic() - begin < 4


def test_answers_and_notifications_are_told_apart() -> None:
    """`waiting` counts answers alone, whatever of the two is sent by half."""
    near, far = socket.socketpair()
    near.setblocking(False)
    connection = Connection(near, 0, privileged=False, frame_bytes=100, now=0.0)
    piece = bytes(1000)
    while not connection.unsent:  # fills the kernel's buffer
        connection.send([piece])
    assert (connection.waiting, connection.noted) == (1, 0)
    connection.send([piece], notes=True)
    connection.send([piece, piece])
    connection.send([piece] * 3, notes=True)
    assert (connection.waiting, connection.noted) == (3, 4)
    left = connection.unsent
    seen = []
    while connection.unsent:
        far.recv(700)
        connection.flush()
        seen.append((connection.waiting, connection.noted))
        assert connection.unsent <= left
        left = connection.unsent
    assert seen[-1] == (0, 0)
    assert seen == sorted(seen, reverse=True)
    near.close()
    far.close()


# ---------------------------------------------------------------------------------------------------- the client
def test_the_client_collects(sidecar: Sidecar) -> None:
    with Client(sidecar.path) as client, Client(sidecar.path) as other:
        session = client.open("u", "s", "layered", notify=True, **SMALL["layered"])
        evicted = 0
        for n in range(30):
            for message in turn(n):
                evicted += session.add(message)["evicted"]
        assert evicted > 0
        session.messages()
        client.ping()
        ends = [params["covered"][-1][1] for name, params in client.notifications if name == "summarized"]
        assert ends
        assert ends == sorted(set(ends))
        assert ends[-1] == next(p for p in session.messages()["parts"] if p["kind"] == "summary")["last_seq"]
        counts = [params["count"] for name, params in client.notifications if name == "evicted"]
        assert sum(counts) == session.stats()["evicted_messages"]
        assert session.recall("A1000", 1)[0]["first_seq"] in (1, 2)
        assert session.recall("订单", scope="session")
        assert not other.notifications
        client.notifications.clear()
        other.open("u", "s").add_many([{"message": m} for n in range(30) for m in turn(n)])
        assert client.poll(5) is True
        assert client.notifications[0][0] == "evicted"
        client.open("u", "s", notify=False)
        client.notifications.clear()
        other.open("u", "s").add_many([{"message": m} for n in range(30) for m in turn(n)])
        client.ping()
        assert not client.notifications
        assert other.stats()["notifications_dropped"] == 0
