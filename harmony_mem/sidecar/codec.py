"""The wire: frames, documents, replies, and the one table of error codes. No I/O happens here.

A frame is a 4-byte big-endian length and then one MessagePack document, shaped as MessagePack-RPC: a request
`[0, id, method, params]`, a response `[1, id, error, result]`, a notification `[2, method, params]`.

What a peer sends is walked once before any object is made of it (`decode`): depth, number of values, binary, extension
types and numbers that are not finite are answered here, so msgpack never meets a document that could exhaust memory.
docs/rpc.md is the manual of the protocol; a test holds it against the tables below.
"""

from __future__ import annotations

import msgpack  # type: ignore[import-untyped]

from harmony_mem import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = [
    "CODES",
    "ERROR_CODES",
    "HEADER",
    "Encoded",
    "FrameParser",
    "code_of",
    "decode",
    "decode_request",
    "details_of",
    "encode_error",
    "encode_notification",
    "encode_request",
    "encode_response",
    "identify",
    "pack",
    "require_fast_msgpack",
    "unpack",
]

HEADER = 4
REQUEST, RESPONSE, NOTIFICATION = 0, 1, 2
MAX_ID = 0xFFFFFFFF

FRAME_BYTES = 16 << 20
DEPTH = 32
VALUES = 1 << 18

# ---------------------------------------------------------------------------------------------------- error codes
# Stable: a code is never renamed and never gets another meaning. The last two are made by the client, not by the wire.
CODES = {
    "bad_frame": "the bytes are no document of this protocol (broken MessagePack, invalid UTF-8, binary, NaN ...)",
    "frame_too_large": "a frame, or the reply to a request, is longer than limits.frame_bytes",
    "too_deep": "lists and maps are nested deeper than limits.depth",
    "too_many_values": "one frame holds more values than limits.values",
    "bad_request": "the document is no request of the form [0, id, method, params]",
    "unknown_method": "there is no such method",
    "bad_params": "a parameter is unknown, missing, of the wrong type or out of range",
    "unknown_option": "no memory has an option of that name, or it is not for clients to set",
    "bad_option": "the memory refuses an option: its value, or that this architecture has it",
    "no_session": "the session is not open",
    "session_limit": "limits.sessions are open",
    "connection_limit": "limits.connections are connected",
    "in_flight_limit": "limits.in_flight answers of this connection have not been taken yet",
    "message_invalid": "the message is no OpenAI-format chat message; nothing was stored",
    "message_too_large": 'the message exceeds limits.message_bytes, or the budget under oversize="refuse"; nothing was '
    "stored",
    "id_conflict": "the id was added before with another content; nothing was stored",
    "budget": "what must stay exceeds the budget: no prompt can be made",
    "counter": "the token counter failed; nothing was stored",
    "history": "the seq never was, or is no longer kept in memory",
    "summary": "a summariser's answer is no text and no summary; the summary stays as it was",
    "limit": "a limit of the session was reached, such as limits.session_bytes",
    "closed": "the memory was closed",
    "forbidden": "only the sidecar's own uid and root may do this",
    "version": "the protocol version is not spoken here",
    "shutting_down": "the sidecar is about to end and takes no further request",
    "internal": "a fault of the sidecar; the incident id in the message is in its log too",
    "unreachable": "made by the client: nothing answers at the socket path",
    "timeout": "made by the client: no answer came in time",
}

# The first class of an error's __mro__ that stands here gives its code. SidecarError carries its own.
ERROR_CODES: dict[type[BaseException], str] = {
    errors.OptionError: "bad_option",
    errors.OversizeError: "message_too_large",
    errors.MessageError: "message_invalid",
    errors.IdConflictError: "id_conflict",
    errors.BudgetError: "budget",
    errors.CounterError: "counter",
    errors.HistoryError: "history",
    errors.SummaryError: "summary",
    errors.LimitError: "limit",
    errors.ClosedError: "closed",
}

# What an error carries beside its text, sent as `details`.
_DETAILS: dict[type[BaseException], tuple[str, ...]] = {
    errors.OversizeError: ("budget", "needed"),
    errors.IdConflictError: ("seq",),
    errors.BudgetError: ("budget", "needed", "parts", "seq"),
}


def code_of(error: BaseException) -> str:
    """The code for an exception; `internal` for one that harmony_mem did not raise on purpose."""
    if isinstance(error, errors.SidecarError):
        return error.code if error.code in CODES else "internal"
    for kind in type(error).__mro__:
        code = ERROR_CODES.get(kind)
        if code is not None:
            return code
    return "internal"


def details_of(error: BaseException) -> dict[str, Any]:
    """The figures that an exception carries as attributes; empty for most."""
    for kind in type(error).__mro__:
        names = _DETAILS.get(kind)
        if names is not None:
            return {name: getattr(error, name) for name in names}
    return {}


# ---------------------------------------------------------------------------------------------------- msgpack
_packer = msgpack.Packer()
# One document from plain objects. Raises what msgpack raises for objects that have no form on the wire.
pack = _packer.pack


def unpack(data: bytes) -> Any:
    """The objects of one document that this process packed, or that `decode` accepted before."""
    return msgpack.unpackb(data)


def require_fast_msgpack(allow_slow: bool) -> None:
    """Raises LimitError when msgpack runs without its C extension, which costs nine tenths of the throughput.

    pip falls back to it silently where no wheel fits and no compiler is found, so nobody would notice otherwise.
    """
    if msgpack.Packer.__module__ == "msgpack.fallback" and not allow_slow:
        raise errors.LimitError(
            "msgpack runs on its pure-Python fallback, about ten times slower: reinstall it with its C extension, "
            "or set HARMONY_MEM_ALLOW_SLOW_MSGPACK=1 to go on all the same"
        )


# ---------------------------------------------------------------------------------------------------- frames
class FrameParser:
    """Cuts a byte stream into frames: feed() what arrived, then iterate over what is complete.

    A frame costs one copy. Bytes of an unfinished frame are appended to one buffer, so a frame that arrives a byte at
    a time costs linear time; nothing is allocated for a length that was only announced.
    """

    __slots__ = ("_data", "_limit", "_start")

    def __init__(self, limit: int = FRAME_BYTES) -> None:
        self._limit = limit
        self._data: bytes | bytearray = b""
        self._start = 0

    def feed(self, data: bytes) -> None:
        held = self._data
        if self._start == len(held):
            self._data, self._start = data, 0
            return
        if isinstance(held, bytearray):
            del held[: self._start]  # cheap: a bytearray gives up its front without a move
            held += data
        else:
            joined = bytearray(memoryview(held)[self._start :])
            joined += data
            self._data = joined
        self._start = 0

    def next(self) -> bytes | None:
        """The next whole frame without its length, or None until more is fed.

        Raises ProtocolError(frame_too_large) as soon as the length is known, and again at every further call: what
        follows can't be told from garbage, so the stream is over.
        """
        data, start = self._data, self._start
        have = len(data) - start
        if have < HEADER:
            return None
        length = int.from_bytes(data[start : start + HEADER], "big")
        if length > self._limit:
            raise errors.ProtocolError(
                f"a frame of {length} bytes was announced; the limit is {self._limit} (limits.frame_bytes)",
                code="frame_too_large",
            )
        if have < HEADER + length:
            return None
        self._start = end = start + HEADER + length
        if isinstance(data, bytes):
            return data[start + HEADER : end]
        return bytes(memoryview(data)[start + HEADER : end])

    def __iter__(self) -> Iterator[bytes]:
        while (frame := self.next()) is not None:
            yield frame

    @property
    def pending(self) -> int:
        """Bytes fed and not handed out yet."""
        return len(self._data) - self._start


# ---------------------------------------------------------------------------------------------------- decoding
def _sizes() -> list[int]:
    """By first byte, how many bytes a value takes that says so in its first byte; 0 for all others."""
    sizes = [0] * 256
    for first in (*range(0x80), *range(0xE0, 0x100), 0xC0, 0xC2, 0xC3):
        sizes[first] = 1
    for first in range(0xA0, 0xC0):
        sizes[first] = 1 + (first & 0x1F)
    for first, size in ((0xCC, 2), (0xCD, 3), (0xCE, 5), (0xCF, 9), (0xD0, 2), (0xD1, 3), (0xD2, 5), (0xD3, 9)):
        sizes[first] = size
    return sizes


_SIZES = _sizes()


def _scan(data: bytes, depth: int, values: int, sizes: list[int] = _SIZES) -> None:
    """Walks one document without making an object of it, and raises ProtocolError for what may not be in it.

    The cost is one step per value, however long its text. Lengths beyond the end are found by running out of bytes.
    """
    position, left, count = 0, 1, 1
    outer: list[int] = []  # values still to come in the lists and maps around the current one
    while True:
        first = data[position]
        size = sizes[first]
        if size:
            position += size
        elif first == 0xD9:
            position += 2 + data[position + 1]
        elif first == 0xDA:
            position += 3 + (data[position + 1] << 8 | data[position + 2])
        elif first < 0xA0 or 0xDC <= first <= 0xDF:
            if first < 0xA0:
                entries = first & 0x0F
                is_map = first < 0x90
                position += 1
            else:
                width = 4 if first & 1 else 2
                is_map = first >= 0xDE
                if position + 1 + width > len(data):
                    raise IndexError
                entries = int.from_bytes(data[position + 1 : position + 1 + width], "big")
                position += 1 + width
            if len(outer) >= depth:
                raise errors.ProtocolError(
                    f"lists and maps are nested deeper than {depth} (limits.depth)", code="too_deep"
                )
            if is_map:
                entries *= 2
            if entries:
                if entries > len(data):
                    raise IndexError  # each value takes at least one byte
                count += entries
                if count > values:
                    raise errors.ProtocolError(
                        f"a frame holds more than {values} values (limits.values): send less at once",
                        code="too_many_values",
                    )
                outer.append(left)
                left = entries
                continue
        elif first == 0xDB:
            if position + 5 > len(data):
                raise IndexError
            position += 5 + int.from_bytes(data[position + 1 : position + 5], "big")
        elif first == 0xCB:
            if data[position + 1] & 0x7F == 0x7F and data[position + 2] >= 0xF0:
                raise errors.ProtocolError("a number is not finite; only JSON's numbers can be carried")
            position += 9
        elif first == 0xCA:
            if data[position + 1] & 0x7F == 0x7F and data[position + 2] >= 0x80:
                raise errors.ProtocolError("a number is not finite; only JSON's numbers can be carried")
            position += 5
        elif first == 0xC1:
            raise errors.ProtocolError("the byte c1 begins no MessagePack value")
        elif 0xC4 <= first <= 0xC6:
            raise errors.ProtocolError("binary data can't be carried: send text, or base64 in a text")
        else:
            raise errors.ProtocolError("MessagePack extension types are not part of this protocol")
        left -= 1
        while not left:
            if not outer:
                if position > len(data):
                    raise IndexError
                if position < len(data):
                    raise errors.ProtocolError(f"{len(data) - position} bytes follow the document in its frame")
                return
            left = outer.pop() - 1


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A map from its pairs; a key that comes twice is refused, since no two readers would agree on its value."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise errors.ProtocolError("a map has the same key twice")
    return made


def decode(frame: bytes, *, depth: int = DEPTH, values: int = VALUES) -> Any:
    """The plain objects of one frame that a peer sent: None, bool, int, finite float, str, list, dict with str keys.

    Raises ProtocolError with the code bad_frame, too_deep or too_many_values.
    """
    try:
        _scan(frame, depth, values)
        return msgpack.unpackb(frame, object_pairs_hook=_unique)
    except IndexError:
        raise errors.ProtocolError("the document ends early") from None
    except UnicodeDecodeError as error:
        raise errors.ProtocolError(f"a text is not valid UTF-8: {error.reason}") from None
    except (ValueError, TypeError, OverflowError) as error:
        # What _scan leaves to msgpack: keys that are no text.
        raise errors.ProtocolError(f"the document can't be read: {error}") from None


def decode_request(frame: bytes, *, depth: int = DEPTH, values: int = VALUES) -> list[Any]:
    """A frame from a client as `[0, id, method, params]`, `[1, id, error, result]` or `[2, method, params]`.

    Raises ProtocolError as decode() does, and with the code bad_request for another shape.
    """
    document = decode(frame, depth=depth, values=values)
    if type(document) is not list or not document or type(document[0]) is not int:
        raise errors.ProtocolError("not of the form [0, id, method, params]", code="bad_request")
    kind = document[0]
    if kind == REQUEST:
        if len(document) != 4:
            text = f"a request has 4 elements [0, id, method, params], not {len(document)}"
        elif type(document[1]) is not int or not 0 <= document[1] <= MAX_ID:
            text = f"the id of a request is an integer from 0 to {MAX_ID}"
        elif type(document[2]) is not str:
            text = "the method of a request is a text"
        elif type(document[3]) is not dict:
            text = "the params of a request are a map"
        else:
            return document
    elif kind in (RESPONSE, NOTIFICATION):
        if len(document) == (4 if kind == RESPONSE else 3):
            return document
        text = "a response has 4 elements, a notification 3"
    else:
        text = f"the first element is 0 (request), 1 (response) or 2 (notification), not {kind}"
    raise errors.ProtocolError(text, code="bad_request")


def identify(frame: bytes) -> tuple[int | None, int | None]:
    """Kind and request id of a frame that could not be decoded, as far as its first bytes tell; else None.

    So that a request with one bad byte somewhere is answered under its own id, and a broken response is not answered.
    """
    if len(frame) < 2 or not 0x90 <= frame[0] <= 0x9F or frame[1] > NOTIFICATION:
        return None, None
    kind = frame[1]
    if kind != REQUEST or len(frame) < 3:
        return kind, None
    first = frame[2]
    if first < 0x80:
        return kind, first
    width = {0xCC: 1, 0xCD: 2, 0xCE: 4}.get(first, 0)
    if not width or len(frame) < 3 + width:
        return kind, None
    return kind, int.from_bytes(frame[3 : 3 + width], "big")


# ---------------------------------------------------------------------------------------------------- encoding
class Encoded:
    """A result that is already one MessagePack document: it is spliced into the reply as it stands."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data

    @classmethod
    def map(cls, fields: dict[str, Any]) -> Encoded:
        """A map of up to 15 fields, whose values are plain objects or Encoded."""
        pieces = [bytes((0x80 | len(fields),))]
        for name, value in fields.items():
            pieces.append(pack(name))
            pieces.append(value.data if isinstance(value, Encoded) else pack(value))
        return cls(b"".join(pieces))


def _frame(body: bytes) -> bytes:
    return len(body).to_bytes(HEADER, "big") + body


def encode_request(request_id: int, method: str, params: dict[str, Any]) -> bytes:
    return _frame(pack((REQUEST, request_id, method, params)))


def encode_notification(method: str, params: dict[str, Any]) -> bytes:
    return _frame(pack((NOTIFICATION, method, params)))


def encode_response(request_id: int, result: Any, limit: int = FRAME_BYTES) -> bytes:
    """The frame that answers a request. Raises SidecarError(frame_too_large) when it would exceed `limit`."""
    if isinstance(result, Encoded):
        head = b"\x94\x01" + pack(request_id) + b"\xc0"
        length = len(head) + len(result.data)
        made = b"".join((length.to_bytes(HEADER, "big"), head, result.data)) if length <= limit else b""
    else:
        body = pack((RESPONSE, request_id, None, result))
        length = len(body)
        made = _frame(body) if length <= limit else b""
    if not made:
        raise errors.SidecarError(
            f"the reply takes {length} bytes; the limit is {limit} (limits.frame_bytes)", code="frame_too_large"
        )
    return made


def encode_error(request_id: int | None, code: str, text: str, details: dict[str, Any] | None = None) -> bytes:
    """The frame that answers a request with an error; `request_id` is None when it could not be read."""
    # A text may quote what a client sent: bounded, and without what no UTF-8 can carry.
    text = text[:1000].encode("utf-8", "replace").decode()
    error: dict[str, Any] = {"code": code, "message": text}
    if details:
        error["details"] = details
    return _frame(pack((RESPONSE, request_id, error, None)))
