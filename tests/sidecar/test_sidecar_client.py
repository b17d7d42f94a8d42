"""The blocking client: against a real sidecar, and against servers that misbehave."""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from collections.abc import Callable
from typing import Any

import msgpack
import pytest
from sidecar_process import Sidecar, Start

import harmony_mem as hm
from harmony_mem.errors import ClosedError, OptionError, ProtocolError, SidecarError
from harmony_mem.sidecar.client import CallError, Client

HI = {"role": "user", "content": "hi 你好"}
YES = {"role": "assistant", "content": "yes"}


def code(caught: pytest.ExceptionInfo[SidecarError]) -> str:
    return caught.value.code


# ---------------------------------------------------------------------------------------------------- the real one
def test_a_whole_conversation(sidecar: Sidecar) -> None:
    with Client(sidecar.path) as client:
        assert client.server == f"harmony_mem {hm.__version__}"
        assert client.limits["message_bytes"] == 1 << 20
        assert client.features == ["layered", "notify", "recall", "summary"]
        assert 0 < client.ping() < 5
        session = client.open("u", "s", "sliding", max_tokens=1000)
        assert (session.created, session.last_seq, session.token_count) == (True, 0, 3)
        assert session.add(HI, id="a", time=1, pinned=True)["seq"] == 1
        assert session.add(HI, id="a")["seq"] == 1
        assert session.add_many([{"message": YES}, {"message": HI}])["seqs"] == [2, 3]
        got = session.messages("query", fixed_tokens=5)
        assert got["messages"] == [HI, YES, HI]
        assert session.messages()["token_count"] == got["token_count"] - 5
        assert session.build_prompt()["prompt"].startswith("user: hi 你好")
        assert session.build_prompt("chatml", None, fixed_tokens=5)["token_count"] == got["token_count"]
        session.unpin(1)
        session.rewind(2)
        assert session.stats()["window_messages"] == 2
        assert session.configure("fixed", max_tokens=500)["architecture"] == "fixed"
        assert session.configure(max_tokens=600)["architecture"] == "fixed"
        again = client.open("u", "s")
        assert (again.created, again.last_seq) == (False, 3)
        session.close()
        with pytest.raises(CallError) as caught:
            again.stats()
        assert code(caught) == "no_session"
        assert client.stats()["sessions"] == 0
        client.shutdown()
    assert sidecar.process.wait(10) == 0


def test_errors_carry_code_text_and_figures(sidecar: Sidecar) -> None:
    with Client(sidecar.path) as client:
        session = client.open("u", "s", "sliding", max_tokens=20)
        session.add({"role": "system", "content": "rule " * 100})
        with pytest.raises(CallError, match="budget is 20") as caught:
            session.messages()
        assert code(caught) == "budget"
        assert caught.value.details["budget"] == 20
        with pytest.raises(CallError, match="did you mean") as caught:
            client.open("u", "t", "sliding", max_token=20)
        assert code(caught) == "unknown_option"
        assert caught.value.details == {}
        # What has no form on the wire is told before anything is sent.
        for message in ({"role": "user", "content": "\ud800"}, {"role": object()}, {"n": 1 << 70}):
            with pytest.raises(OptionError, match="no form on the wire"):
                session.add(message)
        deep: list[Any] = []
        for _ in range(2000):
            deep = [deep]
        with pytest.raises(OptionError, match="no form on the wire"):
            session.add({"role": "user", "content": deep})
        with pytest.raises(CallError) as caught:
            session.add({"role": "user", "content": b"bytes"})
        assert code(caught) == "bad_frame"
        with pytest.raises(SidecarError) as large:
            session.add({"role": "user", "content": "x" * (17 << 20)})
        assert code(large) == "frame_too_large"
        assert session.stats()["last_seq"] == 1


def test_call_many(sidecar: Sidecar) -> None:
    with Client(sidecar.path) as client:
        client.open("u", "s", "sliding", max_tokens=100_000)
        who = {"user": "u", "session": "s"}

        def calls() -> Any:
            for n in range(3000):
                yield ("add", {**who, "message": HI}) if n % 100 else ("nothing", {})

        results = client.call_many(calls())
        assert len(results) == 3000
        for n, result in enumerate(results):
            if n % 100 == 0:
                assert isinstance(result, CallError)
                assert result.code == "unknown_method"
            else:
                assert result["seq"] == n - n // 100
        # Both directions full: 30 MB of requests and 30 MB of answers, neither side waits for the other for ever.
        big = {"role": "user", "content": "z" * 100_000}
        client.open("u", "big", "sliding", max_tokens=1_000_000).add(big)
        params = {"user": "u", "session": "big", "query": "q" * 100_000}
        for result in client.call_many([("messages", params)] * 300):
            assert result["messages"] == [big]
        assert client.call_many([]) == []
        # A call that can't be sent ends the batch, and with it the connection: answers are still under way.
        with pytest.raises(OptionError):
            client.call_many([("ping", {}), ("ping", {"x": object()})])
        with Client(sidecar.path) as other:
            assert other.stats()["connections"] >= 1


def test_ids_wrap_around(sidecar: Sidecar) -> None:
    with Client(sidecar.path) as client:
        client._next_id = 0xFFFFFFFE
        assert client.call_many([("ping", {})] * 5) == [{}] * 5
        assert client._next_id == 3


def test_closed(sidecar: Sidecar) -> None:
    client = Client(sidecar.path)
    session = client.open("u", "s", "fixed")
    client.close()
    client.close()
    for use in (client.ping, session.stats, client.shutdown):
        with pytest.raises(ClosedError):
            use()
    with Client(sidecar.path) as other:
        assert other.open("u", "s").created is False


def test_a_sidecar_that_ends(start: Start) -> None:
    sidecar = start()
    client = Client(sidecar.path)
    sidecar.stop()
    with pytest.raises(ClosedError, match="closed the connection"):
        client.ping()
    with pytest.raises(ClosedError):
        client.ping()
    with pytest.raises(SidecarError, match="harmony-mem serve") as caught:
        Client(sidecar.path)
    assert code(caught) == "unreachable"


def test_no_room_for_another_client(start: Start) -> None:
    sidecar = start("--connections", "1")
    with Client(sidecar.path):
        with pytest.raises(CallError) as caught:
            Client(sidecar.path)
        assert code(caught) == "connection_limit"


def test_paths(directory: str) -> None:
    with pytest.raises(OptionError, match="at most 106"):
        Client("x" * 107)
    with pytest.raises(OptionError, match="NUL"):
        Client("a\0b")
    with pytest.raises(OptionError, match="empty"):
        Client("")
    with pytest.raises(SidecarError) as caught:
        Client(f"{directory}/nothing")
    assert code(caught) == "unreachable"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(f"{directory}/stale")
        with pytest.raises(SidecarError) as caught:
            Client(f"{directory}/stale")
    assert code(caught) == "unreachable"


# ---------------------------------------------------------------------------------------------------- bad ones
HELLO = {"protocol": 1, "server": "x", "limits": {"frame_bytes": 1000}, "features": []}


def frame(document: Any) -> bytes:
    body = document if isinstance(document, bytes) else msgpack.packb(document)
    return struct.pack(">I", len(body)) + body


@pytest.fixture
def imposter(directory: str) -> Any:
    """A server that greets well and then does what the test says with the connection."""
    listener = socket.socket(socket.AF_UNIX)
    path = os.path.join(directory, "i.sock")
    listener.bind(path)
    listener.listen(5)
    threads: list[threading.Thread] = []

    def begin(act: Callable[[socket.socket], None], hello: Any = HELLO) -> str:
        def run() -> None:
            end, _ = listener.accept()
            with end:
                end.recv(1000)
                end.sendall(frame([1, 0, None, hello]))
                end.recv(1000)
                act(end)

        threads.append(threading.Thread(target=run))
        threads[-1].start()
        return path

    yield begin
    for thread in threads:
        thread.join(10)
    listener.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"\xc1",
        b"",
        5,
        [],
        {},
        [1, 1],
        [1, 1, "error", None],
        [1, 1, {"message": "no code"}, None],
        [1, 0, None, {}],  # an answer that was given before
        [1, 7, None, {}],
        [1, "1", None, {}],
        [1, None, None, {}],
    ],
)
def test_answers_that_are_none(imposter: Any, answer: Any) -> None:
    client = Client(imposter(lambda end: end.sendall(frame(answer))))
    with pytest.raises(ProtocolError):
        client.ping()
    with pytest.raises(ClosedError):
        client.ping()


def test_the_same_answer_twice(imposter: Any) -> None:
    client = Client(imposter(lambda end: end.sendall(frame([1, 1, None, {}]) * 2)))
    with pytest.raises(ProtocolError, match="waits for none"):
        client.call_many([("ping", {}), ("ping", {})])


def test_an_oversize_answer(imposter: Any) -> None:
    client = Client(imposter(lambda end: end.sendall(struct.pack(">I", 1001))))
    with pytest.raises(ProtocolError, match="1001"):
        client.ping()


def test_notifications_among_answers(imposter: Any) -> None:
    many = b"".join(frame([2, "evicted", {"count": n}]) for n in range(2000))

    def act(end: socket.socket) -> None:
        end.sendall(frame([2, "other", {}]) + frame([1, 1, None, {}]) + many + frame([1, 2, None, {}]))

    with Client(imposter(act)) as client:
        assert client.call_many([("ping", {}), ("ping", {})]) == [{}, {}]
        assert [params["count"] for _, params in client.notifications] == list(range(2000 - 1024, 2000))


@pytest.mark.parametrize("told", [[2], [2, "evicted"], [2, 1, {}], [2, "evicted", None], [2, "evicted", {}, {}]])
def test_notifications_that_are_none(imposter: Any, told: Any) -> None:
    client = Client(imposter(lambda end: end.sendall(frame(told))))
    with pytest.raises(ProtocolError, match="can't be read"):
        client.ping()


def test_notifications_are_no_answer(imposter: Any) -> None:
    release = threading.Event()

    def act(end: socket.socket) -> None:
        while not release.wait(0.005):
            try:
                end.sendall(frame([2, "evicted", {}]) * 20)
            except OSError:
                return

    client = Client(imposter(act), timeout=0.3)
    begin = time.monotonic()
    with pytest.raises(SidecarError) as caught:
        client.ping()
    release.set()
    assert code(caught) == "timeout"
    assert 0.25 < time.monotonic() - begin < 3


def test_poll(imposter: Any) -> None:
    go = threading.Event()

    def act(end: socket.socket) -> None:
        end.sendall(frame([1, 1, None, {}]))
        go.wait(5)
        end.sendall(frame([2, "evicted", {"count": 1}]))
        end.recv(1)

    with Client(imposter(act)) as client:
        client.ping()
        assert client.poll() is False
        assert client.poll(0.05) is False
        go.set()
        assert client.poll(5) is True
        assert list(client.notifications) == [("evicted", {"count": 1})]
        assert client.poll() is True
        client.notifications.clear()
        assert client.poll() is False
    with pytest.raises(ClosedError):
        client.poll()


def test_poll_of_an_answer_nobody_waits_for(imposter: Any) -> None:
    go = threading.Event()

    def act(end: socket.socket) -> None:
        end.sendall(frame([1, 1, None, {}]))
        go.wait(5)
        end.sendall(frame([1, 1, None, {}]))

    client = Client(imposter(act))
    client.ping()
    go.set()
    with pytest.raises(ProtocolError, match="waits for none"):
        client.poll(5)
    with pytest.raises(ClosedError):
        client.poll()


def test_an_answer_a_byte_at_a_time(imposter: Any) -> None:
    def drip(end: socket.socket) -> None:
        for byte in frame([1, 1, None, {}]):
            end.sendall(bytes((byte,)))
            time.sleep(0.01)

    with Client(imposter(drip)) as client:
        client.ping()


def test_an_error_without_an_id_ends_the_connection(imposter: Any) -> None:
    error = {"code": "frame_too_large", "message": "m"}
    client = Client(imposter(lambda end: end.sendall(frame([1, None, error, None]))))
    with pytest.raises(CallError) as caught:
        client.ping()
    assert code(caught) == "frame_too_large"
    with pytest.raises(ClosedError):
        client.ping()


def test_time_out(imposter: Any) -> None:
    release = threading.Event()
    client = Client(imposter(lambda end: release.wait(10)), timeout=0.2)
    begin = time.monotonic()
    with pytest.raises(SidecarError, match=r"ping: no answer within 0\.2 s") as caught:
        client.ping()
    release.set()
    assert code(caught) == "timeout"
    assert 0.15 < time.monotonic() - begin < 3
    with pytest.raises(ClosedError):
        client.ping()


def test_end_in_the_middle_of_an_answer(imposter: Any) -> None:
    client = Client(imposter(lambda end: end.sendall(frame([1, 1, None, {}])[:-1])))
    with pytest.raises(ClosedError):
        client.ping()


def test_a_greeting_of_another_kind(imposter: Any) -> None:
    with pytest.raises(ProtocolError, match="hello"):
        Client(imposter(lambda end: None, hello={"protocol": 1}))
