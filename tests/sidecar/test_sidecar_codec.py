"""Frames and documents without a socket. The oracle is msgpack itself, and bytes written out from its specification."""

from __future__ import annotations

import math
import random
import struct
import time
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harmony_mem import errors
from harmony_mem.sidecar import codec

# Everything JSON can say, which is what may be carried.
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=40)
)
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=8), inner, max_size=20),
    max_leaves=40,
)


def framed(body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + body


def refused(frame: bytes, **limits: int) -> str:
    with pytest.raises(errors.ProtocolError) as caught:
        codec.decode(frame, **limits)
    return caught.value.code


# ---------------------------------------------------------------------------------------------------- frames
def test_frames_in_one_piece() -> None:
    parser = codec.FrameParser()
    parser.feed(framed(b"abc") + framed(b"") + framed(b"d"))
    assert list(parser) == [b"abc", b"", b"d"]
    assert parser.pending == 0
    assert parser.next() is None


@given(st.lists(st.binary(max_size=300), max_size=12), st.data())
def test_frames_cut_anywhere(bodies: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(map(framed, bodies))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=20)))
    parser = codec.FrameParser()
    got = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        parser.feed(stream[start:end])
        if data.draw(st.booleans()):
            got += list(parser)
    got += list(parser)
    assert got == bodies
    assert all(type(frame) is bytes for frame in got)


def test_frame_a_byte_at_a_time() -> None:
    parser = codec.FrameParser()
    got = []
    for byte in framed(b"x" * 500) + framed(b"y"):
        parser.feed(bytes((byte,)))
        got += list(parser)
    assert got == [b"x" * 500, b"y"]


def test_small_pieces_cost_linear_time() -> None:
    def seconds(size: int) -> float:
        parser = codec.FrameParser()
        parser.feed(struct.pack(">I", size))
        piece = b"z" * 16
        start = time.perf_counter()
        for _ in range(size // 16):
            parser.feed(piece)
            parser.next()
        assert parser.next() is None or parser.pending == 0
        return time.perf_counter() - start

    small = min(seconds(1 << 18) for _ in range(3))
    large = min(seconds(1 << 22) for _ in range(3))
    # 16 times the bytes: 16 times the time when linear, 256 times when quadratic.
    assert large < 64 * small


def test_a_length_beyond_the_limit_is_refused_at_once_and_for_good() -> None:
    parser = codec.FrameParser(100)
    parser.feed(framed(b"k" * 100) + struct.pack(">I", 101))
    assert parser.next() == b"k" * 100
    for _ in range(2):
        with pytest.raises(errors.ProtocolError) as caught:
            parser.next()
        assert caught.value.code == "frame_too_large"
        parser.feed(b"more")


# ---------------------------------------------------------------------------------------------------- documents
@given(documents)
def test_decode_is_the_inverse_of_any_encoder(document: Any) -> None:
    assert codec.decode(msgpack.packb(document)) == document


@pytest.mark.parametrize(
    ("wire", "value"),
    [  # from the MessagePack specification, one of each format that may be carried
        ("c0", None),
        ("c2", False),
        ("c3", True),
        ("7f", 127),
        ("e0", -32),
        ("cc ff", 255),
        ("cd 01 00", 256),
        ("ce 00 01 00 00", 65536),
        ("cf 00 00 00 01 00 00 00 00", 1 << 32),
        ("d0 80", -128),
        ("d1 80 00", -32768),
        ("d2 80 00 00 00", -(1 << 31)),
        ("d3 80 00 00 00 00 00 00 00", -(1 << 63)),
        ("ca 3f c0 00 00", 1.5),
        ("cb 3f f8 00 00 00 00 00 00", 1.5),
        ("ca 7f 7f ff ff", struct.unpack(">f", bytes.fromhex("7f7fffff"))[0]),
        ("cb 7f ef ff ff ff ff ff ff", 1.7976931348623157e308),
        ("a3 e4 bd a0", "你"),
        ("d9 01 00", "\0"),
        ("da 00 01 61", "a"),
        ("db 00 00 00 01 61", "a"),
        ("92 01 02", [1, 2]),
        ("dc 00 01 01", [1]),
        ("dd 00 00 00 01 01", [1]),
        ("81 a1 61 01", {"a": 1}),
        ("de 00 01 a1 61 01", {"a": 1}),
        ("df 00 00 00 01 a1 61 01", {"a": 1}),
        ("90", []),
        ("80", {}),
        ("93 90 80 a0", [[], {}, ""]),
    ],
)
def test_each_format(wire: str, value: Any) -> None:
    got = codec.decode(bytes.fromhex(wire))
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    ("wire", "why"),
    [
        ("", "ends early"),
        ("92 01", "ends early"),
        ("a3 61", "ends early"),
        ("d9", "ends early"),
        ("da 00", "ends early"),
        ("db 00 00", "ends early"),
        ("db ff ff ff ff 61", "ends early"),
        ("cb 3f f8", "ends early"),
        ("cd 01", "ends early"),
        ("dc 00", "ends early"),
        ("dd ff ff ff ff 01", "ends early"),
        ("df ff ff ff ff", "ends early"),
        ("01 02", "1 bytes follow"),
        ("c1", "c1 begins no"),
        ("c4 01 00", "binary"),
        ("c5 00 01 00", "binary"),
        ("c6 00 00 00 01 00", "binary"),
        ("c7 01 05 00", "extension"),
        ("d4 05 00", "extension"),
        ("d6 ff 00 00 00 00", "extension"),  # a timestamp
        ("ca 7f c0 00 00", "not finite"),
        ("ca ff 80 00 00", "not finite"),
        ("cb 7f f8 00 00 00 00 00 00", "not finite"),
        ("cb ff f0 00 00 00 00 00 00", "not finite"),
        ("a2 c3 28", "UTF-8"),
        ("a3 ed a0 80", "UTF-8"),  # a lone surrogate
        ("a4 f4 90 80 80", "UTF-8"),  # beyond U+10FFFF
        ("a2 c0 80", "UTF-8"),  # NUL, overlong
        ("81 01 01", "can't be read"),  # a key that is no text
        ("81 c0 01", "can't be read"),
        ("81 90 01", "can't be read"),
        ("82 a1 61 01 a1 61 02", "same key twice"),
        ("81 a1 61 82 a1 62 01 a1 62 01", "same key twice"),
    ],
)
def test_what_may_not_be_carried(wire: str, why: str) -> None:
    with pytest.raises(errors.ProtocolError, match=why) as caught:
        codec.decode(bytes.fromhex(wire))
    assert caught.value.code == "bad_frame"


@pytest.mark.parametrize("shape", ["list", "map", "mixed"])
def test_nesting_limit_is_ours(shape: str) -> None:
    levels = {"list": [b"\x91"], "map": [b"\x81\xa1k"], "mixed": [b"\x91", b"\x81\xa1k"]}[shape]

    def nested(depth: int) -> bytes:
        return b"".join(levels[i % len(levels)] for i in range(depth)) + b"\x01"

    assert refused(nested(9), depth=8) == "too_deep"
    codec.decode(nested(8), depth=8)
    assert refused(nested(33)) == "too_deep"
    # Far beyond what msgpack itself refuses, empty innermost or cut off.
    for body in (nested(1_000_000), b"\x91" * 100_000, b"\xdd\xff\xff\xff\xff" * 1000):
        assert refused(body) in ("too_deep", "bad_frame")
    # Siblings are not depth.
    codec.decode(msgpack.packb([[[]] * 3] * 50), depth=3)
    assert refused(msgpack.packb([[[]] * 3] * 50), depth=2) == "too_deep"


def test_number_of_values_is_limited() -> None:
    body = msgpack.packb([[1, 2, 3], {"a": 4}])  # the document, 2 in it, 3 and 2 in those
    assert codec.decode(body, values=8) == [[1, 2, 3], {"a": 4}]
    assert refused(body, values=7) == "too_many_values"
    assert refused(b"\xdd\x00\x10\x00\x00" + b"\x80" * (1 << 20)) == "too_many_values"


def json_like(value: Any, depth: int) -> bool:
    """The rule of decode() said another way, over objects that msgpack made of any bytes."""
    if type(value) is list:
        return depth > 0 and all(json_like(item, depth - 1) for item in value)
    if type(value) is dict:
        return depth > 0 and all(type(k) is str and json_like(v, depth - 1) for k, v in value.items())
    return value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value))


class _Duplicate(Exception):
    pass


def reference(frame: bytes, depth: int) -> tuple[bool, Any]:
    """Whether the rules let this frame through, and what it holds, by msgpack's own decoder."""

    def pairs(items: list[tuple[Any, Any]]) -> dict[Any, Any]:
        made = dict(items)
        if len(made) != len(items):
            raise _Duplicate
        return made

    try:
        value = msgpack.unpackb(frame, strict_map_key=False, object_pairs_hook=pairs)
    except (ValueError, TypeError, OverflowError, _Duplicate):
        return False, None
    return json_like(value, depth), value


SEEDS = [
    msgpack.packb(document)
    for document in (
        [0, 1, "add", {"user": "u", "session": "s", "message": {"role": "user", "content": "你好，世界 🙂"}}],
        [0, 2, "open", {"user": "u", "session": "s", "architecture": "fixed", "options": {"max_tokens": 4096}}],
        [0, 3, "add_many", {"messages": [{"message": {"role": "tool", "n": [1.5, -3, None, True]}}] * 3}],
        [1, 4, {"code": "x", "message": "y"}, None],
        [2, "evicted", {"deep": [[[[{"a": [[]]}]]]], "long": "x" * 300}],
    )
]


def mutated(rng: random.Random, data: bytes) -> bytes:
    made = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        where = rng.randrange(len(made) + 1)
        change = rng.randrange(5)
        if change == 0 and where < len(made):
            made[where] = rng.randrange(256)
        elif change == 1:
            made[where:where] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 3)))
        elif change == 2:
            del made[where : where + rng.randint(1, 4)]
        elif change == 3:
            # The first bytes that open something: lists, maps, texts, binary, extensions, floats.
            made[where:where] = bytes((rng.choice([*range(0x80, 0xA0), *range(0xC0, 0xE0)]),))
        else:
            made[where:where] = made[where : where + rng.randint(1, 12)]
    return bytes(made)


def fuzz(rounds: int, seed: int) -> tuple[int, int]:
    rng = random.Random(seed)
    accepted = 0
    for _ in range(rounds):
        frame = mutated(rng, rng.choice(SEEDS))
        allowed, value = reference(frame, 8)
        try:
            got = codec.decode(frame, depth=8)
        except errors.ProtocolError:
            assert not allowed, frame.hex()
        else:
            assert allowed, frame.hex()
            assert got == value, frame.hex()
            accepted += 1
        kind, number = codec.identify(frame)
        assert kind in (None, 0, 1, 2)
        assert number is None or (kind == 0 and 0 <= number <= 0xFFFFFFFF)
    return accepted, rounds


def test_mutated_bytes_against_msgpack() -> None:
    accepted, rounds = fuzz(4000, seed=20260101)
    # Both outcomes are common, or the fuzz would prove nothing.
    assert rounds * 0.02 < accepted < rounds * 0.9


@pytest.mark.slow
def test_mutated_bytes_against_msgpack_for_long() -> None:
    fuzz(1_000_000, seed=random.SystemRandom().randrange(1 << 32))


@given(st.binary(max_size=60))
@settings(max_examples=500)
def test_any_bytes_against_msgpack(frame: bytes) -> None:
    allowed, value = reference(frame, 32)
    try:
        assert codec.decode(frame) == value
        assert allowed
    except errors.ProtocolError:
        assert not allowed


# ---------------------------------------------------------------------------------------------------- messages
@pytest.mark.parametrize(
    "document",
    [
        [0, 0, "ping", {}],
        [0, 0xFFFFFFFF, "ping", {}],
        [1, 7, None, {}],
        [1, None, {"code": "x"}, None],
        [2, "note", {}],
    ],
)
def test_shapes(document: list[Any]) -> None:
    assert codec.decode_request(msgpack.packb(document)) == document


@pytest.mark.parametrize(
    "document",
    [
        None,
        "ping",
        {},
        [],
        ["0"],
        [False, 1, "ping", {}],
        [0],
        [0, 1, "ping"],
        [0, 1, "ping", {}, 5],
        [0, -1, "ping", {}],
        [0, 1 << 32, "ping", {}],
        [0, True, "ping", {}],
        [0, "1", "ping", {}],
        [0, 1, 5, {}],
        [0, 1, "ping", []],
        [0, 1, "ping", None],
        [1, 2],
        [2, "x"],
        [3, 1, "ping", {}],
        [-1],
    ],
)
def test_other_shapes(document: Any) -> None:
    with pytest.raises(errors.ProtocolError) as caught:
        codec.decode_request(msgpack.packb(document))
    assert caught.value.code == "bad_request"


@pytest.mark.parametrize("number", [0, 1, 127, 128, 255, 256, 65535, 65536, 0xFFFFFFFF])
def test_the_id_of_a_broken_request_is_found(number: int) -> None:
    whole = msgpack.packb([0, number, "add", {"text": "x"}])
    with pytest.raises(errors.ProtocolError):
        codec.decode(whole[:-1])
    assert codec.identify(whole[:-1]) == (0, number)


def test_identify_of_other_bytes() -> None:
    assert codec.identify(b"") == (None, None)
    assert codec.identify(b"\x94") == (None, None)
    assert codec.identify(b"\x94\x01\x05") == (1, None)
    assert codec.identify(b"\x93\x02\xa1") == (2, None)
    assert codec.identify(b"\x94\x00") == (0, None)
    assert codec.identify(b"\x94\x00\xcd\x01") == (0, None)
    assert codec.identify(b"\x94\x00\xa1x") == (0, None)
    assert codec.identify(b"GET / HTTP/1.1\r\n") == (None, None)


def test_wire_bytes() -> None:
    # By hand: length; 94 list of 4; 00 request; 07 id; a4 "ping"; 80 empty map.
    assert codec.encode_request(7, "ping", {}).hex(" ") == "00 00 00 09 94 00 07 a4 70 69 6e 67 80"
    assert codec.encode_response(7, {"seq": 1}).hex(" ") == "00 00 00 0a 94 01 07 c0 81 a3 73 65 71 01"
    assert codec.encode_notification("e", {}).hex(" ") == "00 00 00 05 93 02 a1 65 80"
    assert (
        codec.encode_error(None, "c", "t").hex(" ")
        == "00 00 00 16 94 01 c0 82 a4 63 6f 64 65 a1 63 a7 6d 65 73 73 61 67 65 a1 74 c0"
    )


@given(documents, documents, st.integers(0, 0xFFFFFFFF))
def test_encoded_is_spliced_as_it_stands(one: Any, two: Any, number: int) -> None:
    result = codec.Encoded.map({"one": codec.Encoded(msgpack.packb(one)), "two": two})
    frame = codec.encode_response(number, result)
    assert frame == codec.encode_response(number, {"one": one, "two": two})
    assert struct.unpack(">I", frame[:4])[0] == len(frame) - 4
    assert msgpack.unpackb(frame[4:]) == [1, number, None, {"one": one, "two": two}]


def test_a_reply_beyond_the_limit_is_an_error() -> None:
    for result in ("x" * 200, codec.Encoded(msgpack.packb("x" * 200))):
        assert len(codec.encode_response(1, result, 206)) == 4 + 4 + 2 + 200
        with pytest.raises(errors.SidecarError) as caught:
            codec.encode_response(1, result, 205)
        assert caught.value.code == "frame_too_large"


def test_error_texts_are_bounded_and_always_text() -> None:
    frame = codec.encode_error(1, "bad_params", "\ud800" + "x" * 5000, {"seq": 3})
    error = msgpack.unpackb(frame[4:])[2]
    assert error == {"code": "bad_params", "message": "?" + "x" * 999, "details": {"seq": 3}}


# ---------------------------------------------------------------------------------------------------- codes
def test_every_error_class_has_a_code() -> None:
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    assert len(classes) > 10
    made: dict[type, Exception] = {
        errors.OversizeError: errors.OversizeError("t", budget=1, needed=2),
        errors.IdConflictError: errors.IdConflictError("t", seq=3),
        errors.BudgetError: errors.BudgetError("t", budget=1, needed=2, parts={"head": 2}, seq=0),
        errors.SidecarError: errors.SidecarError("t", code="forbidden"),
        errors.ProtocolError: errors.ProtocolError("t"),
    }
    wanted = {
        "HarmonyMemError": "internal",
        "OptionError": "bad_option",
        "MessageError": "message_invalid",
        "OversizeError": "message_too_large",
        "IdConflictError": "id_conflict",
        "BudgetError": "budget",
        "CounterError": "counter",
        "HistoryError": "history",
        "SummaryError": "summary",
        "LimitError": "limit",
        "ClosedError": "closed",
        "SidecarError": "forbidden",
        "ProtocolError": "bad_frame",
    }
    got = {kind.__name__: codec.code_of(made.get(kind) or kind("t")) for kind in classes}
    assert got == wanted
    assert set(codec.ERROR_CODES.values()) <= set(codec.CODES)
    assert codec.code_of(KeyError("x")) == "internal"
    assert codec.code_of(errors.SidecarError("t", code="no such code")) == "internal"


def test_details_are_the_figures_of_an_error() -> None:
    budget = errors.BudgetError("t", budget=1, needed=2, parts={"head": 2}, seq=9)
    assert codec.details_of(budget) == {"budget": 1, "needed": 2, "parts": {"head": 2}, "seq": 9}
    assert codec.details_of(errors.IdConflictError("t", seq=3)) == {"seq": 3}
    assert codec.details_of(errors.OversizeError("t", budget=1, needed=2)) == {"budget": 1, "needed": 2}
    assert codec.details_of(errors.MessageError("t")) == {}
