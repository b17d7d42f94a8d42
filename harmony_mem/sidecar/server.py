"""The server: one loop over non-blocking sockets, which joins codec, dispatch and sessions.

No client waits for another: each pass reads at most READ_BYTES from a client and answers at most PASS_FRAMES of its
requests; a client that takes no answers is not read from; one that stalls is dropped. SIGTERM and SIGINT drain: what
had arrived is answered and sent, then the process ends.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import time

from harmony_mem import _version
from harmony_mem.errors import HarmonyMemError, ProtocolError
from harmony_mem.sidecar import codec
from harmony_mem.sidecar.connection import Connection, peer_uid
from harmony_mem.sidecar.dispatch import Dispatcher
from harmony_mem.sidecar.limits import settle
from harmony_mem.sidecar.log import Log
from harmony_mem.sidecar.sessions import Sessions
from harmony_mem.sidecar.socketfile import BACKLOG, SocketFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Server"]

READ_BYTES = 64 << 10
PASS_FRAMES = 64
PASS_ACCEPTS = 16
DRAIN_BYTES = 4 << 20  # what a client may have had under way when the drain began
DRAIN_SECONDS = 5.0
ACCEPT_PAUSE = 0.5  # after an accept that failed for want of file descriptors or memory

_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class Server:
    """A sidecar at one socket. Made, it listens; run() serves until stop() or a signal.

    Raises OptionError, LimitError or OSError when it can't listen at `path`.
    """

    version = _version.__version__

    def __init__(
        self, path: str, *, mode: int = 0o600, limits: dict[str, int] | None = None, log: Log | None = None
    ) -> None:
        codec.require_fast_msgpack(os.environ.get("HARMONY_MEM_ALLOW_SLOW_MSGPACK") == "1")
        self.limits = settle(limits or {})
        self._log = log or Log()
        self._sessions = Sessions(self.limits, codec.pack, codec.unpack)
        self._dispatcher = Dispatcher(self._sessions, self.limits, self)
        self._connections: set[Connection] = set()
        self._ready: set[Connection] = set()  # more frames were read than one pass answers
        self._stopping = False
        self._accept_at = 0.0  # when accepting goes on; 0 while it is not paused
        self._now = self._started = time.monotonic()
        self._accepted = self._refused = self._requests = self._ignored = 0
        self._notes: list[tuple[Connection, bytes]] = []  # to be sent when the answer under way is
        self._notified = self._unheard = 0
        self._errors: dict[str, int] = {}
        self._file = SocketFile(path, mode)
        self._selector = selectors.DefaultSelector()
        # A byte in this pair wakes the loop: from a signal, or from stop() in another thread.
        self._wake, self._waker = socket.socketpair()
        self._wake.setblocking(False)
        self._waker.setblocking(False)
        self._selector.register(self._wake, _READ, None)
        self._selector.register(self._file.socket, _READ, None)

    # ------------------------------------------------------------------------------------------ for dispatch
    def stop(self) -> None:
        """Ends run() after draining. May be called from any thread and from a signal handler."""
        self._stopping = True
        try:
            self._waker.send(b"\0")
        except OSError:
            return  # full: the loop wakes anyway; closed: it has ended

    def counters(self) -> dict[str, Any]:
        return {
            "uptime_seconds": int(time.monotonic() - self._started),
            "connections": len(self._connections),
            "accepted": self._accepted,
            "refused": self._refused,
            "requests": self._requests,
            "ignored": self._ignored,
            "notifications": self._notified,
            "notifications_dropped": self._unheard,
            "errors": dict(self._errors),
            "log_lines_dropped": self._log.dropped,
        }

    def notify(self, peers: set[Connection], method: str, params: dict[str, Any]) -> None:
        """Sends a notification to each of the peers, behind the answer to the request that caused it."""
        frame = codec.encode_notification(method, params)
        self._notes += [(peer, frame) for peer in peers]

    # ------------------------------------------------------------------------------------------ the loop
    def run(self, *, signals: bool = True, ready: Callable[[], None] | None = None) -> None:
        """Serves until stopped, then drains, removes the socket file and returns.

        `ready` is called once, when a signal would drain already. `signals` needs the main thread.
        """
        restore: list[Any] = []
        if signals:
            restore = [(number, signal.getsignal(number)) for number in (signal.SIGTERM, signal.SIGINT)]
            for number, _ in restore:
                signal.signal(number, lambda *_: self.stop())
            # A handler runs between two bytecodes: without this byte, a signal just before select() would wait for it.
            signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        sweep = max(0.02, min(self.limits["stall_seconds"], self.limits["idle_seconds"]) / 2)
        sweep_at = self._now + sweep
        try:
            if ready is not None:
                ready()
            self._log("started", pid=os.getpid(), path=self._file.path, version=self.version)
            while not self._stopping:
                if self._ready:
                    timeout: float | None = 0.0
                elif self._accept_at:
                    timeout = max(0.0, self._accept_at - self._now)
                elif self._connections:
                    timeout = max(0.0, sweep_at - self._now)
                else:
                    timeout = None
                events = self._selector.select(timeout)
                self._now = now = time.monotonic()
                waiting, self._ready = self._ready, set()
                for key, _ in events:
                    connection = key.data
                    if connection is not None:
                        waiting.discard(connection)
                        self._visit(connection)
                    elif key.fileobj is self._wake:
                        self._wake.recv(64)
                    else:
                        self._accept()
                for connection in waiting:
                    if connection in self._connections:
                        self._visit(connection)
                if self._accept_at and now >= self._accept_at:
                    self._resume_accepting()
                if now >= sweep_at:
                    sweep_at = now + sweep
                    self._sweep()
            self._drain()
        finally:
            if signals:
                signal.set_wakeup_fd(-1)
                for number, handler in restore:
                    signal.signal(number, handler)
            self.close()
        self._log("stopped", requests=self._requests)

    def close(self) -> None:
        """Lets everything go at once, without draining. Twice is fine."""
        for connection in list(self._connections):
            self._drop(connection)
        self._file.close()
        self._selector.close()
        self._wake.close()
        self._waker.close()
        self._sessions.close_all()

    # ------------------------------------------------------------------------------------------ accepting
    def _accept(self) -> None:
        for _ in range(PASS_ACCEPTS):
            try:
                sock, _address = self._file.socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if self._stopping:
                    return
                # No descriptor or no memory is free. The waiting client stays in the backlog, where a level-triggered
                # selector would report it for ever: look away for a while.
                self._log("accept_failed", error=error.strerror, connections=len(self._connections))
                self._selector.unregister(self._file.socket)
                self._accept_at = self._now + ACCEPT_PAUSE
                return
            sock.setblocking(False)
            if self._stopping:
                self._turn_away(sock, "shutting_down", "the sidecar is about to end")
            elif len(self._connections) >= self.limits["connections"]:
                limit = self.limits["connections"]
                self._turn_away(sock, "connection_limit", f"{limit} clients are connected (limits.connections)")
            else:
                self._welcome(sock)

    def _welcome(self, sock: socket.socket) -> None:
        uid = peer_uid(sock)
        connection = Connection(
            sock,
            uid,
            privileged=uid in (0, os.getuid()),
            frame_bytes=self.limits["frame_bytes"],
            now=self._now,
        )
        connection.mask = _READ
        self._selector.register(sock, _READ, connection)
        self._connections.add(connection)
        self._accepted += 1

    def _turn_away(self, sock: socket.socket, code: str, text: str) -> None:
        self._refused += 1
        self._count(code)
        with sock:
            try:
                sock.send(codec.encode_error(None, code, text))
            except OSError:
                return  # it left before it was told

    def _resume_accepting(self) -> None:
        self._accept_at = 0.0
        self._selector.register(self._file.socket, _READ, None)

    # ------------------------------------------------------------------------------------------ one client
    def _visit(self, connection: Connection, *, draining: bool = False) -> None:
        """One turn of a client: sends, answers, reads. Closes it when it is done, gone or broken."""
        try:
            if connection.unsent and connection.flush():
                connection.active = self._now
            more = bool(connection.parser.pending) and self._answer(connection)
            if not more and not connection.ended and connection.unsent <= self.limits["outgoing_bytes"]:
                count = connection.read(READ_BYTES)
                if count > 0:
                    connection.active = self._now
                    if draining:
                        connection.quota -= count
                        connection.ended = connection.quota <= 0
                    more = self._answer(connection)
                elif count < 0 or draining:
                    connection.ended = True
            if more:
                self._ready.add(connection)
            elif connection.ended and not (connection.waiting if draining else connection.unsent):
                self._drop(connection)
                return
            self._watch(connection)
        except OSError:
            self._drop(connection)
        except Exception as error:  # a fault here must cost this client only
            self._incident("connection", error)
            self._drop(connection)

    def _watch(self, connection: Connection) -> None:
        mask = _WRITE if connection.unsent else 0
        if not connection.ended and connection.unsent <= self.limits["outgoing_bytes"]:
            mask |= _READ
        # Ended with frames still to answer: it is in _ready, and _WRITE is what a selector may always be asked for.
        mask = mask or _WRITE
        if mask != connection.mask:
            connection.mask = mask
            self._selector.modify(connection.sock, mask, connection)

    def _answer(self, connection: Connection) -> bool:
        """Answers frames that have arrived; True when there may be more than one pass answers.

        False with frames left over when the client does not take its answers: it goes on when they are sent.
        """
        answers: list[bytes] = []
        held = connection.unsent
        room = self.limits["outgoing_bytes"]
        more = True
        for _ in range(PASS_FRAMES):
            if held > room:
                if answers:
                    connection.send(answers)
                    answers = []
                held = connection.unsent
                if held > room:
                    return False
            try:
                frame = connection.parser.next()
            except ProtocolError as error:
                # Where the next frame begins is unknown from here on.
                answers.append(self._error(None, error))
                connection.parser = codec.FrameParser(0)
                connection.ended = True
                more = False
                break
            if frame is None:
                more = False
                break
            if connection.waiting + len(answers) >= self.limits["in_flight"] and answers:
                connection.send(answers)
                answers = []
                held = connection.unsent
            answer = self._answer_one(connection, frame)
            if answer is not None:
                answers.append(answer)
                held += len(answer)
            if self._notes:
                try:
                    connection.send(answers)
                finally:  # the others hear of it also when this one is gone
                    self._deliver()
                answers = []
                held = connection.unsent
        if answers:
            connection.send(answers)
        return more

    def _deliver(self) -> None:
        """Sends the notifications under way. Who does not take them loses them; nobody else notices."""
        notes, self._notes = self._notes, []
        for connection, frame in notes:
            before = connection.unsent
            if connection not in self._connections or connection.noted >= self.limits["notifications"]:
                self._unheard += 1
                continue
            try:
                connection.send([frame], notes=True)
                self._watch(connection)
            except OSError:
                self._unheard += 1
                continue  # it is gone: its own next turn finds that out
            self._notified += 1
            if not before or connection.unsent < before + len(frame):
                connection.active = self._now

    def _answer_one(self, connection: Connection, frame: bytes) -> bytes | None:
        """The answer to one frame; None for what is never answered: notifications, responses, broken ones too."""
        limits = self.limits
        self._requests += 1
        try:
            document = codec.decode_request(frame, depth=limits["depth"], values=limits["values"])
        except ProtocolError as error:
            kind, request_id = codec.identify(frame)
            if kind in (codec.RESPONSE, codec.NOTIFICATION):
                self._ignored += 1
                return None
            return self._error(request_id, error)
        if document[0] != codec.REQUEST:
            self._ignored += 1
            return None
        _, request_id, method, params = document
        if connection.waiting >= limits["in_flight"]:
            text = f"{limits['in_flight']} answers wait for this client (limits.in_flight): read them first"
            self._count("in_flight_limit")
            return codec.encode_error(request_id, "in_flight_limit", text)
        try:
            result = self._dispatcher.call(connection, method, params)
            return codec.encode_response(request_id, result, limits["frame_bytes"])
        except HarmonyMemError as error:
            return self._error(request_id, error)
        except Exception as error:  # a fault of ours: named in the log, not on the wire
            incident = self._incident(method[:64], error)
            self._count("internal")
            return codec.encode_error(request_id, "internal", f"a fault of the sidecar, incident {incident}")

    def _error(self, request_id: int | None, error: HarmonyMemError) -> bytes:
        code = codec.code_of(error)
        self._count(code)
        return codec.encode_error(request_id, code, str(error), codec.details_of(error))

    def _count(self, code: str) -> None:
        self._errors[code] = self._errors.get(code, 0) + 1

    def _incident(self, where: str, error: BaseException) -> str:
        """Logs a fault and returns the id that finds it. The text of the error may quote a user: it is not logged."""
        incident = os.urandom(4).hex()
        trace, step = [], error.__traceback__
        while step is not None:
            code = step.tb_frame.f_code
            trace.append(f"{os.path.basename(code.co_filename)}:{step.tb_lineno} {code.co_name}")
            step = step.tb_next
        self._log("internal", incident=incident, where=where, error=type(error).__name__, trace=trace[-8:])
        return incident

    def _drop(self, connection: Connection) -> None:
        if connection not in self._connections:
            return
        self._connections.discard(connection)
        self._ready.discard(connection)
        self._dispatcher.left(connection)
        self._selector.unregister(connection.sock)
        connection.sock.close()
        if self._accept_at:
            self._accept_at = self._now  # a descriptor is free again

    # ------------------------------------------------------------------------------------------ time
    def _sweep(self) -> None:
        """Drops clients that stall in the middle of something, and connections on which nothing was sent for long."""
        for connection in list(self._connections):
            quiet = self._now - connection.active
            # One that takes no notification is not dropped for that: it may listen only now and then.
            if quiet > self.limits["stall_seconds"] and (connection.parser.pending or connection.waiting):
                self._log("dropped", reason="stalled", unread=connection.parser.pending, unsent=connection.unsent)
                self._drop(connection)
            elif quiet > self.limits["idle_seconds"]:
                self._log("dropped", reason="idle")
                self._drop(connection)

    def _drain(self) -> None:
        """Answers and sends what had arrived, for at most DRAIN_SECONDS; nothing new is accepted."""
        if not self._accept_at:
            self._selector.unregister(self._file.socket)
        for _ in range(BACKLOG // PASS_ACCEPTS):
            self._accept()  # who waits in the backlog is told
        self._file.close()
        self._selector.unregister(self._wake)
        for connection in self._connections:
            connection.quota = DRAIN_BYTES
        deadline = time.monotonic() + DRAIN_SECONDS
        while self._connections and (left := deadline - time.monotonic()) > 0:
            for connection in list(self._connections):
                self._visit(connection, draining=True)
            if self._connections:
                busy = self._ready or any(c.mask & _READ for c in self._connections)
                self._selector.select(0.0 if busy else left)
            self._now = time.monotonic()
            self._ready = set()
        if self._connections:
            self._log("cut", connections=len(self._connections))
