"""Random trouble against dispatch, and against a live sidecar: every request gets one answer with a code of the table,
nothing is a fault of ours, and a session that was there before is there after, word for word."""

from __future__ import annotations

import random
import struct
import threading
import time
from typing import Any

import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sidecar_process import Raw, Start

from harmony_mem.errors import HarmonyMemError
from harmony_mem.sidecar import codec
from harmony_mem.sidecar.dispatch import METHODS, NOTIFICATIONS, Dispatcher
from harmony_mem.sidecar.limits import DEFAULTS
from harmony_mem.sidecar.sessions import OPTIONS, Sessions

KEPT = {"user": "kept", "session": "kept"}
KEPT_MESSAGES = [{"role": "user", "content": "留着这一句 🙂"}, {"role": "assistant", "content": "yes"}]

WORDS = [
    *("", "u", "s", "kept", "user", "assistant", "system", "tool", "sliding", "fixed", "plain", "chatml", "c1", "c2"),
    *("estimate", "chars/2", "split", "refuse", "leading", "all", "car"),
    *("summary", "layered", "extractive", "own", "merged", "rest"),
    *("\0", "你好", "🙂", "x" * 300, "hello " * 200),
]
NUMBERS = [0, 1, 2, 3, -1, 7, 40, 200, 4096, 65536, 1 << 31, 1 << 32, 1 << 48, 1 << 63, (1 << 64) - 1, -(1 << 63)]
KEYS = sorted(
    {name for _, required, optional in METHODS.values() for name in (*required, *optional)}
    | set(OPTIONS)
    | {"role", "content", "tool_calls", "tool_call_id", "name", "function", "arguments", "type", "text", "id", "x"}
)


class Control:
    version = "0"

    def __init__(self) -> None:
        self.told = 0

    def stop(self) -> None:
        pass

    def counters(self) -> dict[str, Any]:
        return {}

    def notify(self, peers: set[Any], method: str, params: dict[str, Any]) -> None:
        assert peers
        assert tuple(params) == NOTIFICATIONS[method]
        assert msgpack.unpackb(codec.encode_notification(method, params)[4:]) == [2, method, params]
        self.told += 1


class Peer:
    namespace = "uid:1"
    privileged = True

    def __init__(self) -> None:
        self.watching: set[Any] = set()


def value(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.randrange(10 if depth < 4 else 6)
    if kind < 2:
        return rng.choice(WORDS)
    if kind < 4:
        return rng.choice(NUMBERS)
    if kind == 4:
        return rng.choice([None, True, False])
    if kind == 5:
        return rng.choice([0.5, -1e300, 3.0])
    if kind < 8:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(KEYS): value(rng, depth + 1) for _ in range(rng.randrange(5))}


def message(rng: random.Random) -> Any:
    role = rng.choice(["user", "assistant", "tool", "system", "user", "assistant"])
    made: dict[str, Any] = {"role": role, "content": rng.choice(WORDS)}
    if role == "assistant" and rng.random() < 0.5:
        calls = [{"id": rng.choice(["c1", "c2"]), "function": {"name": "f", "arguments": "{}"}} for _ in range(2)]
        made["tool_calls"] = calls[: rng.randint(1, 2)]
    if role == "tool":
        made["tool_call_id"] = rng.choice(["c1", "c2"])
    if rng.random() < 0.3:
        made[rng.choice(KEYS)] = value(rng, 2)
    return made if rng.random() < 0.95 else value(rng)


GOOD: dict[str, Any] = {
    "user": lambda rng: rng.choice(["u", "v"]),
    "session": lambda rng: rng.choice(["s", "t"]),
    "architecture": lambda rng: rng.choice(["fixed", "sliding", "summary", "layered"]),
    "options": lambda rng: {
        "max_tokens": rng.choice([1, 20, 60, 400, 4096]),
        **({rng.choice(OPTIONS): value(rng)} if rng.random() < 0.3 else {}),
    },
    "message": message,
    "messages": lambda rng: [
        {"message": message(rng), **({"id": rng.choice(WORDS)} if rng.random() < 0.3 else {})}
        for _ in range(rng.randrange(4))
    ],
    "id": lambda rng: rng.choice(["a", "b", "c"]),
    "time": lambda rng: rng.choice([0, 1, 1 << 40]),
    "pinned": lambda rng: rng.random() < 0.3,
    "after_seq": lambda rng: rng.randrange(40),
    "seq": lambda rng: rng.randrange(40),
    "fixed_tokens": lambda rng: rng.choice([0, 10, 4000]),
    "style": lambda rng: rng.choice(["plain", "chatml"]),
    "query": lambda rng: rng.choice(["q", "", "hello 你好", "user"]),
    "k": lambda rng: rng.choice([1, 5, 1000]),
    "scope": lambda rng: "session",
    "notify": lambda rng: rng.random() < 0.8,
    "protocol": lambda rng: 1,
}


def request(rng: random.Random) -> tuple[str, Any]:
    """A method with parameters that are right, mostly."""
    method = rng.choice([*METHODS, *["add"] * 12, "messages", "messages", "rewind", "nonsense"])
    if method in ("shutdown", "close") and rng.random() < 0.9:
        method = "open"
    _, required, optional = METHODS.get(method, (None, {}, {}))
    params: dict[str, Any] = {}
    for name in (*required, *optional):
        if name in required or rng.random() < 0.4:
            params[name] = GOOD[name](rng) if name in GOOD and rng.random() < 0.97 else value(rng)
    if rng.random() < 0.03 and params:
        del params[rng.choice(sorted(params))]
    if rng.random() < 0.03:
        params[rng.choice(KEYS)] = value(rng)
    return method, params


def pass_over(rng: random.Random, rounds: int) -> dict[str, int]:
    """Runs requests through codec and dispatch as the server does; how often each code came."""
    control = Control()
    dispatcher = Dispatcher(Sessions(DEFAULTS, codec.pack, codec.unpack), DEFAULTS, control)
    peer = Peer()
    dispatcher.call(peer, "open", {**KEPT, "architecture": "sliding"})
    for kept in KEPT_MESSAGES:
        dispatcher.call(peer, "add", {**KEPT, "message": kept})
    seen: dict[str, int] = {"ok": 0}
    for _ in range(rounds):
        method, params = request(rng)
        try:
            document = codec.decode_request(msgpack.packb([0, 1, method, params]))
            frame = codec.encode_response(1, dispatcher.call(peer, document[2], document[3]))
            answer = msgpack.unpackb(frame[4:])
            assert answer[:3] == [1, 1, None]
            seen["ok"] += 1
            if method == "messages":
                budget = dispatcher.call(peer, "stats", {"user": params["user"], "session": params["session"]})[
                    "budget"
                ]
                assert answer[3]["token_count"] <= budget
        except HarmonyMemError as error:
            code = codec.code_of(error)
            assert code in codec.CODES
            assert code != "internal"
            codec.encode_error(1, code, str(error), codec.details_of(error))
            seen[code] = seen.get(code, 0) + 1
    got = msgpack.unpackb(dispatcher.call(peer, "messages", KEPT).data)
    assert got["messages"] == KEPT_MESSAGES
    return {**seen, "told": control.told}


def test_dispatch() -> None:
    seen = pass_over(random.Random(7), 2000)
    # The fuzz reaches what it is for.
    assert seen["ok"] > 300
    assert seen["told"] > 10
    assert {"bad_params", "no_session", "budget", "history", "message_invalid", "bad_option", "id_conflict"} <= set(
        seen
    )


@pytest.mark.slow
def test_dispatch_for_long() -> None:
    rng = random.Random(random.SystemRandom().randrange(1 << 32))
    end = time.monotonic() + 120
    while time.monotonic() < end:
        pass_over(rng, 5000)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=12,
)


@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(METHODS)), st.dictionaries(st.sampled_from(KEYS), json_values)), max_size=8
    )
)
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_dispatch_of_anything(calls: list[tuple[str, dict[str, Any]]]) -> None:
    dispatcher = Dispatcher(Sessions(DEFAULTS, codec.pack, codec.unpack), DEFAULTS, Control())
    codes = set()
    for method, params in [("open", {"user": "u", "session": "s", "architecture": "fixed"}), *calls]:
        if method not in ("hello", "ping", "shutdown", "stats"):
            params = {"user": "u", "session": "s", **params}
        try:
            codec.encode_response(1, dispatcher.call(Peer(), method, params))
        except HarmonyMemError as error:
            codes.add(codec.code_of(error))
    assert codes <= set(codec.CODES) - {"internal"}


# ---------------------------------------------------------------------------------------------------- live
def garbled(rng: random.Random, data: bytes) -> bytes:
    made = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        where = rng.randrange(len(made) + 1)
        kind = rng.randrange(4)
        if kind == 0 and where < len(made):
            made[where] = rng.randrange(256)
        elif kind == 1:
            made[where:where] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 4)))
        elif kind == 2:
            del made[where : where + rng.randint(1, 5)]
        elif where < len(made):
            made[where] ^= 1 << rng.randrange(8)
    return bytes(made)


def answer_of(raw: Raw) -> Any:
    """The next response; notifications before it are passed over."""
    while (document := raw.frame())[0] == 2:
        assert document[1] in NOTIFICATIONS
    assert document[0] == 1
    assert len(document) == 4
    return document


def harass(path: str, rng: random.Random, end: float, failures: list[BaseException]) -> None:
    """Clients that send broken bodies in whole frames, or anything at all, and leave when they like."""
    try:
        while time.monotonic() < end:
            raw = Raw(path, timeout=20)
            for _ in range(rng.randint(1, 30)):
                body = msgpack.packb([0, rng.randrange(1 << 32), *request(rng)])
                if b"shutdown" in body:
                    continue
                if rng.random() < 0.7:
                    body = garbled(rng, body)
                # A ping behind it shows that the frame was answered, or passed over, and the stream still runs.
                raw.send_frame(body)
                marker = raw.send_request("ping", {})
                got = answer_of(raw)
                for _ in range(8):  # its answer, and notifications that it asked for, may come before
                    if got == [1, marker, None, {}]:
                        break
                    if got[0] == 1 and got[2] is not None:
                        assert got[2]["code"] in codec.CODES
                        assert got[2]["code"] != "internal"
                    got = answer_of(raw)
                assert got == [1, marker, None, {}]
            if rng.random() < 0.5:
                raw.send(garbled(rng, struct.pack(">I", 60) + rng.randbytes(rng.randrange(200))))
            raw.close()
    except BaseException as error:
        failures.append(error)


def live_fuzz(start: Start, seconds: float, seed: int) -> None:
    sidecar = start()
    raw = sidecar.raw()
    raw.call("open", {**KEPT, "architecture": "sliding"})
    for kept in KEPT_MESSAGES:
        raw.call("add", {**KEPT, "message": kept})
    failures: list[BaseException] = []
    end = time.monotonic() + seconds
    threads = [
        threading.Thread(target=harass, args=(sidecar.path, random.Random(seed + n), end, failures)) for n in range(3)
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert raw.call("messages", KEPT)["messages"] == KEPT_MESSAGES
        time.sleep(0.02)
    assert failures == []
    stats = raw.call("stats", {})
    assert stats["errors"]["bad_frame"] > 20
    assert "internal" not in stats["errors"]


def test_live(start: Start) -> None:
    live_fuzz(start, 3.0, seed=11)


@pytest.mark.slow
def test_live_for_long(start: Start) -> None:
    live_fuzz(start, 120.0, seed=random.SystemRandom().randrange(1 << 32))
