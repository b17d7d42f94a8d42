"""The server as a process: bad bytes, slow and dying clients, many at once. One client's trouble is no other's."""

from __future__ import annotations

import json
import os
import random
import socket
import struct
import subprocess
import sys
import threading
import time
from typing import Any

import msgpack
import pytest
from sidecar_process import Raw, Sidecar, Start, launch, wait_until

WHO = {"user": "u", "session": "s"}
OPEN = {**WHO, "architecture": "sliding", "options": {"max_tokens": 4096}}


def user(text: str) -> dict[str, Any]:
    return {**WHO, "message": {"role": "user", "content": text}}


# ---------------------------------------------------------------------------------------------------- bytes
def test_a_byte_at_a_time(shared_raw: Raw) -> None:
    shared_raw.call("open", OPEN)
    body = msgpack.packb([0, 77, "add", user("你好 🙂")])
    for byte in struct.pack(">I", len(body)) + body:
        shared_raw.send(bytes((byte,)))
        time.sleep(0.001)
    assert shared_raw.read()[1:3] == [77, None]
    assert shared_raw.call("messages", WHO)["messages"] == [{"role": "user", "content": "你好 🙂"}]


def test_many_requests_in_one_write_are_answered_in_order(shared_raw: Raw) -> None:
    shared_raw.call("open", OPEN)
    bodies = [msgpack.packb([0, 1000 + n, "add", user(f"m{n}")]) for n in range(700)]
    shared_raw.send(b"".join(struct.pack(">I", len(body)) + body for body in bodies))
    answers = [shared_raw.read() for _ in bodies]
    assert [answer[1] for answer in answers] == list(range(1000, 1700))
    assert [answer[3]["seq"] for answer in answers] == list(range(1, 701))


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "bad_frame"),
        (b"\xc1", "bad_frame"),
        (b"\xff" * 50, "bad_frame"),
        (b"\x94\x00", "bad_frame"),
        (msgpack.packb("ping"), "bad_request"),
        (msgpack.packb([0, "id", "ping", {}]), "bad_request"),
        (msgpack.packb([0, None, "ping", {}]), "bad_request"),
        (msgpack.packb([7, 1, "ping", {}]), "bad_request"),
    ],
)
def test_a_frame_that_cannot_be_read_costs_an_error_only(shared_raw: Raw, body: bytes, code: str) -> None:
    shared_raw.send_frame(body)
    assert shared_raw.code() == (None, code)
    assert shared_raw.call("ping", {}) == {}


@pytest.mark.parametrize(
    ("tail", "code"),
    [
        (b"\xa4ping", "bad_frame"),  # cut off
        (b"\xa4ping\x80\x80", "bad_frame"),  # too long
        (b"\xa4ping\x81\xa1k\xa3\xed\xa0\x80", "bad_frame"),  # a lone surrogate as bytes
        (b"\xa4ping\x81\xa1k\xa2\xc3\x28", "bad_frame"),  # broken UTF-8
        (b"\xa4ping\x81\xa1k\xc4\x01x", "bad_frame"),  # binary
        (b"\xa4ping\x81\xa1k\xd4\x01x", "bad_frame"),  # extension
        (b"\xa4ping\x81\xa1k\xcb\x7f\xf8\0\0\0\0\0\0", "bad_frame"),  # NaN
        (b"\xa4ping\x82\xa1k\x01\xa1k\x01", "bad_frame"),  # the same key twice
        (b"\xa4ping\x81\x01\x01", "bad_frame"),  # a key that is no text
        (b"\xa4ping\x81\xa1k" + b"\x91" * 40 + b"\x01", "too_deep"),
        (b"\xa4ping\x81\xa1k" + b"\x91" * 100_000 + b"\x01", "too_deep"),
        (b"\xa4ping\x81\xa1k\xdd\x00\x10\x00\x00" + b"\x01" * (1 << 20), "too_many_values"),
        (b"\xa4ping\x90", "bad_request"),
        (b"\xa4ping\xc0", "bad_request"),
        (b"\x07\x80", "bad_request"),
    ],
)
def test_a_broken_request_is_answered_under_its_id(shared_raw: Raw, tail: bytes, code: str) -> None:
    shared_raw.send_frame(b"\x94\x00\xcd\x30\x39" + tail)
    assert shared_raw.code() == (12345, code)
    assert shared_raw.call("ping", {}) == {}


@pytest.mark.parametrize(
    "body",
    [
        msgpack.packb([1, 5, None, {}]),  # an answer to nothing
        msgpack.packb([1, 5, {"code": "x", "message": "y"}, None]),
        msgpack.packb([2, "ping", {}]),
        msgpack.packb([2, "shutdown", {}]),
        b"\x94\x01\x05\xc1\xc0",  # broken, but a response
        b"\x93\x02\xc1",
        msgpack.packb([1]),
        msgpack.packb([2, "x"]),
    ],
)
def test_responses_and_notifications_are_never_answered(sidecar: Sidecar, raw: Raw, body: bytes) -> None:
    raw.send_frame(body)
    assert raw.call("ping", {}) == {}
    assert raw.call("stats", {})["ignored"] == 1


@pytest.mark.parametrize("length", [(16 << 20) + 1, 0xFFFFFFFF])
def test_an_oversize_frame_is_refused_at_once(sidecar: Sidecar, length: int) -> None:
    raw, other = sidecar.raw(), sidecar.raw()
    raw.send_request("ping", {})
    raw.send(struct.pack(">I", length) + b"abc")
    assert raw.read()[2] is None
    assert raw.code() == (None, "frame_too_large")
    assert raw.at_end()
    assert other.call("ping", {}) == {}
    other.close()


def test_the_largest_frame_is_taken(raw: Raw) -> None:
    raw.call("open", OPEN)
    head = msgpack.packb([0, 1, "ping", {}])[:-1] + b"\x81\xa1k\xdb"
    text = b"x" * ((16 << 20) - len(head) - 4)
    raw.send_frame(head + struct.pack(">I", len(text)) + text)
    assert raw.code() == (1, "bad_params")


def test_a_web_browser_gets_an_error_and_an_end(sidecar: Sidecar) -> None:
    raw = sidecar.raw()
    raw.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert raw.code() == (None, "frame_too_large")
    assert raw.at_end()


def test_limits_from_the_command_line(start: Start) -> None:
    raw = start("--frame-bytes", "5000", "--depth=8", "--message-bytes", "1000", "--name-chars", "3").raw()
    assert raw.call("hello", {"protocol": 1})["limits"]["depth"] == 8
    assert raw.call("open", {"user": "four", "session": "s"})["code"] == "bad_params"
    raw.call("open", OPEN)
    assert raw.call("add", user("x" * 1000))["code"] == "message_too_large"
    assert raw.call("ping", {"k": [[[[[[[1]]]]]]]})["code"] == "too_deep"
    for _ in range(10):
        raw.call("add", user("x" * 900))
    answer = raw.call("messages", WHO)
    assert answer["code"] == "frame_too_large"
    assert "reply" in answer["message"]
    raw.send_request("add", user("x" * 5000))
    assert raw.code()[1] == "frame_too_large"
    assert raw.at_end()


# ---------------------------------------------------------------------------------------------------- clients
def test_two_clients_at_once(sidecar: Sidecar) -> None:
    one, two = sidecar.raw(), sidecar.raw()
    one.call("open", OPEN)
    # One stops in the middle of a frame; the other works on, in the same session too.
    body = msgpack.packb([0, 9, "add", user("late")])
    one.send(struct.pack(">I", len(body)) + body[:20])
    for n in range(20):
        assert two.call("add", user(f"m{n}"))["seq"] == n + 1
    one.send(body[20:])
    assert one.read()[3]["seq"] == 21
    assert two.call("messages", WHO)["messages"][-1]["content"] == "late"
    one.close()
    two.close()


def test_a_client_that_dies_in_the_middle_of_a_frame(sidecar: Sidecar, raw: Raw) -> None:
    raw.call("open", OPEN)
    for cut in range(0, 60, 7):
        dying = sidecar.raw()
        body = msgpack.packb([0, 1, "add", user("never")])
        dying.send((struct.pack(">I", len(body)) + body)[:cut])
        dying.close()
    wait_until(lambda: raw.call("stats", {})["connections"] == 1)
    assert raw.call("stats", WHO)["last_seq"] == 0


def test_a_client_that_dies_with_answers_unread(sidecar: Sidecar, raw: Raw) -> None:
    raw.call("open", OPEN)
    raw.call("add", user("x" * 3000))
    dying = sidecar.raw()
    for _ in range(200):
        dying.send_request("messages", WHO)
    dying.close()
    wait_until(lambda: raw.call("stats", {})["connections"] == 1)


def test_half_closed_clients_get_their_answers(sidecar: Sidecar) -> None:
    raw = sidecar.raw()
    for _ in range(300):
        raw.send_request("ping", {})
    raw.sock.shutdown(socket.SHUT_WR)
    for number in range(1, 301):
        assert raw.read() == [1, number, None, {}]
    assert raw.at_end()


def test_a_slow_reader_is_held_back_and_holds_nobody_up(sidecar: Sidecar) -> None:
    slow, quick = sidecar.raw(), sidecar.raw()
    quick.call("open", {**OPEN, "options": {"max_tokens": 1_000_000}})
    quick.call("add", user("y" * 200_000))
    done = threading.Event()
    requests = 100

    def pour() -> None:  # blocks when the sidecar stops reading: 100 answers of 200 KB
        for _ in range(requests):
            slow.send_request("messages", {**WHO, "query": "q" * 20_000})
        done.set()

    threading.Thread(target=pour, daemon=True).start()
    assert not done.wait(1.0)
    assert sidecar.resident_kb() < 40_000  # not the 20 MB of all answers on top of the process
    start = time.perf_counter()
    for _ in range(50):
        quick.call("ping", {})
    assert time.perf_counter() - start < 2.0
    for number in range(1, requests + 1):
        document = slow.read()
        assert document[1] == number
        assert len(document[3]["messages"][0]["content"]) == 200_000
    assert done.wait(5.0)
    slow.close()
    quick.close()


def test_in_flight_limit(start: Start) -> None:
    sidecar = start("--in-flight", "10")
    raw, other = sidecar.raw(), sidecar.raw()
    other.call("open", {**OPEN, "options": {"max_tokens": 1_000_000}})
    other.call("add", user("y" * 60_000))
    # Some answers of 60 KB fill the kernel's buffer; what follows waits in the sidecar.
    for _ in range(14):
        raw.send_request("messages", WHO)
    for _ in range(30):
        raw.send_request("ping", {})
    time.sleep(0.3)
    errors = [document[2] for document in (raw.read() for _ in range(44))]
    first = next(index for index, error in enumerate(errors) if error)
    assert 10 <= first <= 20
    assert {error and error["code"] for error in errors[first:]} == {"in_flight_limit"}
    # Answers that were taken count no more: all of them, or the first few.
    assert raw.call("ping", {}) == {}
    for _ in range(13):
        raw.send_request("messages", WHO)
    time.sleep(0.3)
    for _ in range(5):
        assert raw.read()[2] is None
    time.sleep(0.3)
    number = raw.send_request("ping", {})
    for _ in range(8):
        assert raw.read()[2] is None
    assert raw.read() == [1, number, None, {}]
    # And a client that takes its answers is never refused, however much it sends at once.
    other.send(b"".join(struct.pack(">I", 9) + msgpack.packb([0, n % 128, "ping", {}]) for n in range(5000)))
    assert [other.read()[2] for _ in range(5000)] == [None] * 5000
    raw.close()
    other.close()


def test_connection_limit(start: Start) -> None:
    sidecar = start("--connections", "3")
    ends = [sidecar.raw() for _ in range(3)]
    for end in ends:
        assert end.call("ping", {}) == {}
    fourth = sidecar.raw()
    assert fourth.code() == (None, "connection_limit")
    assert fourth.at_end()
    ends.pop().close()
    wait_until(lambda: ends[0].call("stats", {})["connections"] == 2)
    fifth = sidecar.raw()
    assert fifth.call("ping", {}) == {}
    for end in (*ends, fifth):
        end.close()


def test_no_file_descriptor_left_does_not_spin(start: Start) -> None:
    sidecar = start(limit_files=16)
    ends = [sidecar.raw() for _ in range(20)]
    wait_until(lambda: any(line["event"] == "accept_failed" for line in sidecar.log()))
    assert ends[0].call("ping", {}) == {}
    before = sidecar.cpu_seconds()
    time.sleep(1.5)
    assert sidecar.cpu_seconds() - before < 0.2
    # Those who wait get their turn when others go.
    for end in ends[:12]:
        end.close()
    for end in ends[12:]:
        assert end.call("ping", {}) == {}
        end.close()


def test_stalled_and_idle_clients_are_dropped(start: Start) -> None:
    sidecar = start("--stall-seconds", "1", "--idle-seconds", "3")
    stalled, idle, alive = sidecar.raw(), sidecar.raw(), sidecar.raw()
    stalled.send(b"\0\0")
    idle.call("ping", {})
    begin = time.monotonic()
    while time.monotonic() - begin < 5.0:
        assert alive.call("ping", {}) == {}
        time.sleep(0.1)
    assert [line.get("reason") for line in sidecar.log() if line["event"] == "dropped"] == ["stalled", "idle"]
    assert stalled.at_end()
    assert idle.at_end()
    alive.close()


def test_nobody_waits_for_a_busy_client(sidecar: Sidecar) -> None:
    busy, other = sidecar.raw(), sidecar.raw()
    other.call("open", OPEN)
    stop = threading.Event()
    request = msgpack.packb([0, 1, "add", user("busy busy busy")])
    block = (struct.pack(">I", len(request)) + request) * 500

    def pour() -> None:
        while not stop.is_set():
            busy.send(block)

    def drink() -> None:
        while busy.sock.recv(1 << 16):
            pass

    threads = [threading.Thread(target=pour), threading.Thread(target=drink)]
    for thread in threads:
        thread.start()
    slowest = 0.0
    for _ in range(100):
        start = time.perf_counter()
        assert other.call("ping", {}) == {}
        slowest = max(slowest, time.perf_counter() - start)
    stop.set()
    threads[0].join()
    busy.sock.shutdown(socket.SHUT_WR)
    threads[1].join()
    # A pass answers 64 requests of the busy one; a second would mean that it is served to its end.
    assert slowest < 0.5
    busy.close()
    other.close()


def test_many_clients_at_once(sidecar: Sidecar) -> None:
    failures: list[BaseException] = []

    def talk(number: int) -> None:
        try:
            rng = random.Random(number)
            raw = sidecar.raw(timeout=30)
            who = {"user": f"user {number // 2}", "session": f"s{number}"}
            raw.call("open", {**who, "architecture": rng.choice(["fixed", "sliding"])})
            sent = []
            for n in range(40):
                message = {"role": "user", "content": f"{number}/{n} " + "字" * rng.randrange(30)}
                sent.append(message)
                assert raw.call("add", {**who, "message": message})["seq"] == n + 1
                assert raw.call("messages", who)["messages"] == sent
            raw.close()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=talk, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_texts_of_all_kinds_come_back(shared_raw: Raw) -> None:
    shared_raw.call("open", {**OPEN, "options": {"max_tokens": 100_000}})
    texts = [
        "你好，世界",
        "👩‍👩‍👧‍👦🏳️‍🌈",
        "\0",
        "a\0b",
        "\u202e right to left",
        "e\u0301",
        "<|im_end|>\n<|im_start|>system",
        "\ud7ff\ue000\ufffd\uffff\U0010ffff",
        "",
        " \t\r\n",
    ]
    for text in texts:
        assert "seq" in shared_raw.call("add", user(text))
    assert [message["content"] for message in shared_raw.call("messages", WHO)["messages"]] == texts


def test_a_megabyte_in_every_place_is_answered_quickly(raw: Raw) -> None:
    raw.call("open", OPEN)
    long = "x" * 1_000_000
    start = time.perf_counter()
    for method, params in (
        (long, {}),
        ("ping", {long: 1}),
        ("open", {**WHO, "architecture": long}),
        ("open", {**WHO, "options": {long: 1}}),
        ("open", {**WHO, "options": {"preset": long}}),
        ("open", {"user": long, "session": "s"}),
        ("build_prompt", {**WHO, "style": long}),
        ("add", {**WHO, "message": {"role": long, "content": ""}}),
        ("add", {**WHO, "message": {"role": "user", long: 1, "content": 7}}),
        ("add", {**WHO, "message": {"role": "tool", "tool_call_id": long, "content": 7}}),
    ):
        answer = raw.call(method, params)
        assert "code" in answer
        assert len(answer["message"]) <= 1000
    assert time.perf_counter() - start < 2.0


def test_an_incident_is_in_the_log_and_not_on_the_wire(directory: str) -> None:
    """A fault of ours, made on purpose: the answer carries an id only, and the log line has it too."""
    program = """
import sys
from harmony_mem.sidecar import dispatch, server
def faulty(self, peer, params):
    raise KeyError("secret words of a user")
run, required, optional = dispatch.METHODS["ping"]
dispatch.METHODS["ping"] = (faulty, required, optional)
made = server.Server(sys.argv[1])
print("up", flush=True)
made.run()
"""
    path = os.path.join(directory, "s.sock")
    process = launch([sys.executable, "-c", program, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    raw = Raw(path)
    answer = raw.call("ping", {})
    assert answer["code"] == "internal"
    assert "secret" not in str(answer)
    assert raw.call("stats", {})["errors"] == {"internal": 1}
    assert raw.call("shutdown", {}) == {}
    _, log = process.communicate(timeout=10)
    raw.close()
    assert process.returncode == 0
    assert "secret" not in log
    lines = [json.loads(line) for line in log.splitlines()]
    assert [line["event"] for line in lines] == ["started", "internal", "stopped"]
    assert lines[1]["error"] == "KeyError"
    assert lines[1]["where"] == "ping"
    assert any("faulty" in step for step in lines[1]["trace"])
    assert answer["message"].endswith(lines[1]["incident"])
