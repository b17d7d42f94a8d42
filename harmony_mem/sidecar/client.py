"""A blocking client of the sidecar.

    with Client() as client:
        session = client.open("user-7", "trip", "sliding", max_tokens=4096)
        session.add({"role": "user", "content": "..."})
        messages = session.messages()["messages"]

What the sidecar tells unasked, to who opened a session with notify=True, collects in client.notifications as
(method, params) while calls wait for their answers, or when poll() is called.

Errors: SidecarError with the code of the table in docs/rpc.md, ProtocolError for bytes that are no answer, ClosedError
when the connection is gone. One thread at a time: give each thread a client of its own.
"""

from __future__ import annotations

import select
import socket
import time
from collections import deque

from harmony_mem._version import __version__
from harmony_mem.errors import ClosedError, OptionError, ProtocolError, SidecarError
from harmony_mem.sidecar import codec
from harmony_mem.sidecar.socketfile import check_path, default_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType
    from typing import Any, NoReturn, Self

    Message = dict[str, Any]

__all__ = ["CallError", "Client", "Session"]

PROTOCOL = 1
KEPT = 1024  # notifications; the oldest go first
_READ_BYTES = 256 << 10
_PENDING = object()


class CallError(SidecarError):
    """The sidecar answered a call with an error; `details` are the figures that came with it, empty for most codes."""

    def __init__(self, text: str, *, code: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(text, code=code)
        self.details = details or {}


class Session:
    """One session of one user: the calls of Client with both filled in."""

    __slots__ = ("_client", "_names", "created", "last_seq", "token_count")

    def __init__(self, client: Client, user: str, session: str, opened: dict[str, Any]) -> None:
        self._client = client
        self._names = {"user": user, "session": session}
        self.created: bool = opened["created"]  # these three as they were when it was opened
        self.last_seq: int = opened["last_seq"]
        self.token_count: int = opened["token_count"]

    def _call(self, method: str, **params: Any) -> Any:
        given = {name: value for name, value in params.items() if value is not None}
        return self._client.call(method, {**self._names, **given})

    def add(
        self, message: Message, *, id: str | None = None, time: int | None = None, pinned: bool = False
    ) -> dict[str, Any]:
        """`{seq, token_count, evicted}`"""
        return self._call("add", message=message, id=id, time=time, pinned=pinned or None)  # type: ignore[no-any-return]

    def add_many(self, items: list[dict[str, Any]]) -> dict[str, Any]:
        """Adds `{message, id?, time?, pinned?}` in order, all or none: `{seqs, token_count, evicted}`."""
        return self._call("add_many", messages=items)  # type: ignore[no-any-return]

    def messages(self, query: str | None = None, *, fixed_tokens: int | None = None) -> dict[str, Any]:
        """`{messages, token_count, exact, parts}`: what to send to the model."""
        return self._call("messages", query=query, fixed_tokens=fixed_tokens)  # type: ignore[no-any-return]

    def build_prompt(
        self, style: str = "plain", query: str | None = None, *, fixed_tokens: int | None = None
    ) -> dict[str, Any]:
        """`{prompt, token_count}`"""
        return self._call("build_prompt", style=style, query=query, fixed_tokens=fixed_tokens)  # type: ignore[no-any-return]

    def recall(self, query: str, k: int | None = None, scope: str | None = None) -> list[dict[str, Any]]:
        """What matches best of what left the window, best first: `{text, first_seq, last_seq, time, score}`."""
        return self._call("recall", query=query, k=k, scope=scope)["items"]  # type: ignore[no-any-return]

    def rewind(self, after_seq: int) -> dict[str, Any]:
        return self._call("rewind", after_seq=after_seq)  # type: ignore[no-any-return]

    def unpin(self, seq: int) -> dict[str, Any]:
        return self._call("unpin", seq=seq)  # type: ignore[no-any-return]

    def configure(self, architecture: str | None = None, **options: Any) -> dict[str, Any]:
        return self._call("configure", architecture=architecture, options=options)  # type: ignore[no-any-return]

    def stats(self) -> dict[str, Any]:
        return self._call("stats")  # type: ignore[no-any-return]

    def close(self) -> None:
        """Lets the session go, in the sidecar too. The client stays connected."""
        self._call("close")


class Client:
    """A connection to the sidecar at `path` (None: the default socket). `timeout` bounds each call, in seconds."""

    def __init__(self, path: str | None = None, *, timeout: float = 10.0, name: str = "python") -> None:
        self.path = default_path() if path is None else path
        self.timeout = timeout
        self.notifications: deque[tuple[str, dict[str, Any]]] = deque(maxlen=KEPT)
        check_path(self.path)
        self._parser = codec.FrameParser()
        self._next_id = 0
        self._socket: socket.socket | None = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(timeout)
            try:
                self._socket.connect(self.path)
            except OSError as error:
                raise SidecarError(
                    f"no sidecar answers at {self.path} ({error.strerror or error}); start one with: harmony-mem serve",
                    code="unreachable",
                ) from None
            self._socket.setblocking(False)
            greeting = self.call("hello", {"protocol": PROTOCOL, "client": f"{name} {__version__}"})
            try:
                self.server: str = greeting["server"]
                self.limits: dict[str, int] = greeting["limits"]
                self.features: list[str] = greeting["features"]
                self._parser = codec.FrameParser(int(self.limits["frame_bytes"]))
            except (TypeError, LookupError, ValueError):
                raise ProtocolError("the answer to hello is not that of a sidecar") from None
        except BaseException:
            self.close()
            raise

    # ------------------------------------------------------------------------------------------ the methods
    def open(
        self, user: str, session: str, architecture: str | None = None, *, notify: bool | None = None, **options: Any
    ) -> Session:
        """Opens a session, or joins one that is open. Without an architecture it must be open already.

        With notify=True this client hears from now on what happens in the session, with False no longer.
        """
        params: dict[str, Any] = {"user": user, "session": session, "options": options}
        if architecture is not None:
            params["architecture"] = architecture
        if notify is not None:
            params["notify"] = notify
        return Session(self, user, session, self.call("open", params))

    def ping(self) -> float:
        """The seconds that a round trip took."""
        start = time.perf_counter()
        self.call("ping", {})
        return time.perf_counter() - start

    def stats(self) -> dict[str, Any]:
        """Of the whole sidecar; those of a session are Session.stats()."""
        return self.call("stats", {})  # type: ignore[no-any-return]

    def shutdown(self) -> None:
        """Asks the sidecar to drain and end."""
        self.call("shutdown", {})

    # ------------------------------------------------------------------------------------------ calls
    def call(self, method: str, params: dict[str, Any]) -> Any:
        """The result of one call; CallError when the sidecar answers with an error."""
        result = self.call_many([(method, params)])[0]
        if isinstance(result, SidecarError):
            raise result
        return result

    def call_many(self, calls: Iterable[tuple[str, dict[str, Any]]], *, window: int = 256) -> list[Any]:
        """Sends many calls without waiting for each answer; the results are in order.

        At most `window` calls are unanswered at a time. A call that failed has its CallError in its place. The
        timeout holds for each step forward, not for the whole.
        """
        todo = iter(calls)
        results: list[Any] = []
        first = self._next_id
        done = 0
        view = memoryview(b"")
        method = ""
        exhausted = False
        deadline = time.monotonic() + self.timeout
        while True:
            while not exhausted and len(results) - done < window and len(view) < _READ_BYTES:
                call = next(todo, None)
                if call is None:
                    exhausted = True
                    break
                method = call[0]
                try:
                    view = memoryview(bytes(view) + self._encode(first + len(results), *call))
                except BaseException:
                    if len(results) > done:
                        self.close()  # answers of this batch would be taken for those of the next
                    raise
                results.append(_PENDING)
                self._next_id = (first + len(results)) & codec.MAX_ID
            if exhausted and done == len(results):
                return results
            view = self._exchange(view, deadline, method)
            late = time.monotonic() > deadline
            while (frame := self._next_frame()) is not None:
                position, value = self._decode(frame, first)
                if position is None:
                    if late:  # notifications are no step forward, however many come
                        self._give_up(method)
                    continue
                late = False
                if position >= len(results) or results[position] is not _PENDING:
                    self.close()
                    raise ProtocolError("an answer to a request that waits for none")
                results[position] = value
                done += 1
                deadline = time.monotonic() + self.timeout

    def _encode(self, number: int, method: str, params: dict[str, Any]) -> bytes:
        try:
            data = codec.encode_request(number & codec.MAX_ID, method, params)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise OptionError(f"{method}: the params have no form on the wire: {error}") from None
        limit = getattr(self, "limits", {}).get("frame_bytes", codec.FRAME_BYTES)
        if len(data) - codec.HEADER > limit:
            raise SidecarError(
                f"{method}: the request takes {len(data)} bytes, the sidecar's limit is {limit}", code="frame_too_large"
            )
        return data

    def _exchange(self, view: memoryview, deadline: float, method: str) -> memoryview:
        """Waits until something can be sent or read, does it, and returns what is still to be sent."""
        sock = self._socket
        if sock is None:
            raise ClosedError("the client is closed")
        gone = False
        if view:
            try:
                view = view[sock.send(view) :]
            except BlockingIOError:
                pass
            except OSError:
                gone = True  # but it may have said why
        left = deadline - time.monotonic()
        poll = select.poll()
        poll.register(sock, select.POLLIN | (select.POLLOUT if view and not gone else 0))
        events = poll.poll(max(0.0, left) * 1000)
        if not events:
            self._give_up(method)
        if events[0][1] & ~select.POLLOUT:
            self._read(method)
        return view

    def _read(self, method: str) -> None:
        """Feeds the parser with what is there."""
        assert self._socket is not None
        try:
            data = self._socket.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            raise ClosedError(f"{method}: the sidecar closed the connection")
        self._parser.feed(data)

    def _give_up(self, method: str) -> NoReturn:
        """Half a request may be sent, and the answer may come yet: nothing after it could be told apart from it."""
        self.close()
        raise SidecarError(f"{method}: no answer within {self.timeout} s; the connection is closed", code="timeout")

    def poll(self, timeout: float = 0.0) -> bool:
        """Takes in what has been told, and waits up to `timeout` seconds while there is nothing.

        True when `notifications` holds any. Raises ClosedError, ProtocolError.
        """
        deadline = time.monotonic() + timeout
        while self._socket is not None:
            poll = select.poll()
            poll.register(self._socket, select.POLLIN)
            left = 0.0 if self.notifications else max(0.0, deadline - time.monotonic())
            if not poll.poll(left * 1000):
                return bool(self.notifications)
            self._read("poll")
            while (frame := self._next_frame()) is not None:
                if self._decode(frame, self._next_id)[0] is not None:
                    self.close()
                    raise ProtocolError("an answer to a request that waits for none")
            if self.notifications:
                return True
        raise ClosedError("the client is closed")

    def _next_frame(self) -> bytes | None:
        try:
            return self._parser.next()
        except ProtocolError:
            self.close()
            raise

    def _decode(self, frame: bytes, first: int) -> tuple[int | None, Any]:
        """Which of the calls from `first` on a frame answers, and its result or CallError; None for other frames."""
        try:
            document = codec.unpack(frame)
            kind = document[0]
            if kind == codec.NOTIFICATION:
                _, told, params = document
                if type(told) is not str or type(params) is not dict:
                    raise ValueError("a notification is a text and a map")
                self.notifications.append((told, params))
            if kind != codec.RESPONSE:
                return None, None
            _, number, error, result = document
            position = None if number is None else (number - first) & codec.MAX_ID
            if error is not None:
                result = CallError(error["message"], code=error["code"], details=error.get("details"))
        except (ValueError, TypeError, LookupError) as error:
            self.close()
            raise ProtocolError(f"an answer can't be read: {error}") from None
        if position is None:
            # Not about one call: the frame was unreadable, or there is no room for this client.
            self.close()
            raise result if isinstance(result, CallError) else ProtocolError("an answer without an id")
        return position, result

    # ------------------------------------------------------------------------------------------ the end
    def close(self) -> None:
        """Closes the connection; sessions stay open in the sidecar. Twice is fine."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
