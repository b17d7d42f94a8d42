"""One connected client, as the server sees it: who it is, what arrived, what is not sent yet."""

from __future__ import annotations

import socket
import sys

from harmony_mem.sidecar.codec import FrameParser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Connection", "peer_uid"]

_UCRED_BYTES = 12  # pid, uid, gid: three 32-bit integers


def peer_uid(sock: socket.socket) -> int:
    """The uid of the process at the other end, as the kernel noted it at connect."""
    credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED_BYTES)
    return int.from_bytes(credentials[4:8], sys.byteorder)


class Connection:
    """Buffers of one client. Reads and writes never wait; a write keeps what the kernel does not take."""

    __slots__ = (
        "_ends",
        "_note_ends",
        "_out",
        "_taken",
        "_total",
        "active",
        "ended",
        "mask",
        "namespace",
        "parser",
        "privileged",
        "quota",
        "sock",
        "watching",
    )

    def __init__(self, sock: socket.socket, uid: int, *, privileged: bool, frame_bytes: int, now: float) -> None:
        self.sock = sock
        self.namespace = f"uid:{uid}"
        self.privileged = privileged
        self.parser = FrameParser(frame_bytes)
        self.mask = 0  # what the selector watches
        self.active = now  # when a byte last went either way
        self.ended = False  # nothing more is read: the connection closes once all is answered and sent
        self.quota = 0  # bytes still to be read while draining
        self.watching: set[Any] = set()  # sessions whose notifications it asked for
        self._out = bytearray()
        # Where each unsent answer ends, counted from the connection's first byte that had to be kept.
        self._ends: list[int] = []
        self._note_ends: list[int] = []  # the same for notifications, which are no answers
        self._total = 0
        self._taken = 0

    @property
    def unsent(self) -> int:
        """Bytes that wait for the client."""
        return len(self._out)

    @property
    def waiting(self) -> int:
        """Answers that wait for the client, one sent by half included."""
        return len(self._ends)

    @property
    def noted(self) -> int:
        """Notifications that wait for the client, one sent by half included."""
        return len(self._note_ends)

    def read(self, size: int) -> int:
        """Feeds the parser. Returns the number of bytes, 0 when there are none now, -1 at the end of the stream."""
        try:
            data = self.sock.recv(size)
        except (BlockingIOError, InterruptedError):
            return 0
        if not data:
            return -1
        self.parser.feed(data)
        return len(data)

    def send(self, frames: list[bytes], *, notes: bool = False) -> None:
        """Sends answers, or notifications, behind what waits already. Raises OSError when the client is gone."""
        ends = self._note_ends if notes else self._ends
        if self._out:
            for frame in frames:
                self._out += frame
                self._total += len(frame)
                ends.append(self._total)
            self.flush()
            return
        data = frames[0] if len(frames) == 1 else b"".join(frames)
        try:
            sent = self.sock.send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        if sent == len(data):
            return
        self._out += memoryview(data)[sent:]
        self._total = -sent
        self._taken = 0
        for frame in frames:
            self._total += len(frame)
            if self._total > 0:
                ends.append(self._total)

    def flush(self) -> bool:
        """Sends what waits; True when some of it went. Raises OSError when the client is gone."""
        try:
            # A bounded piece: the kernel takes some 200 KB at most, and a slice is a copy.
            sent = self.sock.send(memoryview(self._out)[: 256 << 10])
        except (BlockingIOError, InterruptedError):
            return False
        del self._out[:sent]
        self._taken += sent
        if not self._out:
            self._ends.clear()
            self._note_ends.clear()
            self._total = self._taken = 0
            return True
        for ends in (self._ends, self._note_ends):
            done = 0
            for end in ends:
                if end > self._taken:
                    break
                done += 1
            del ends[:done]
        return True
