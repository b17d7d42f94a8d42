"""A real sidecar in a process of its own, and a raw end of the socket that shares no code with harmony_mem."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import msgpack

Start = Callable[..., "Sidecar"]


class Raw:
    """Frames by hand over a socket: struct and msgpack only. The fixture `directory` closes what a test leaves open."""

    made: ClassVar[list[Raw]] = []

    def __init__(self, path: str, timeout: float = 10.0) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(timeout)
        self.number = 0
        self.made.append(self)
        self.sock.connect(path)

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def send_frame(self, body: bytes) -> None:
        self.send(len(body).to_bytes(4, "big") + body)

    def send_request(self, method: str, params: Any, number: int | None = None) -> int:
        if number is None:
            self.number += 1
            number = self.number
        self.send_frame(msgpack.packb([0, number, method, params]))
        return number

    def exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self.sock.recv(size - len(data))
            if not piece:
                raise EOFError(f"{len(data)} of {size} bytes")
            data += piece
        return data

    def frame(self) -> Any:
        """The next document, of whatever kind."""
        return msgpack.unpackb(self.exactly(int.from_bytes(self.exactly(4), "big")))

    def told(self) -> tuple[str, dict[str, Any]]:
        """The next frame, which is a notification: method and params."""
        kind, method, params = self.frame()
        assert kind == 2
        return method, params

    def read(self) -> list[Any]:
        """The next response: `[1, id, error, result]`."""
        document = self.frame()
        assert type(document) is list
        assert document[0] == 1
        assert len(document) == 4
        assert (document[2] is None) or (document[3] is None)
        return document

    def call(self, method: str, params: Any) -> Any:
        """The result, or the error's map."""
        number = self.send_request(method, params)
        _, got, error, result = self.read()
        assert got == number
        return result if error is None else error

    def code(self) -> tuple[Any, str]:
        """Id and code of the next response, which is an error."""
        _, number, error, _ = self.read()
        assert error is not None
        assert set(error) <= {"code", "message", "details"}
        assert "Traceback" not in error["message"]
        assert '.py"' not in error["message"]
        return number, error["code"]

    def at_end(self) -> bool:
        """True when the sidecar has closed the connection and nothing is left to read."""
        try:
            return self.sock.recv(1) == b""
        except ConnectionResetError:
            return True

    def close(self) -> None:
        self.sock.close()

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


launched: list[subprocess.Popen[Any]] = []


def launch(command: list[str], **options: Any) -> subprocess.Popen[Any]:
    """A process that the fixture `directory` ends if the test does not."""
    launched.append(subprocess.Popen(command, **options))
    return launched[-1]


def clean_up() -> None:
    """Closes and ends what a test left open."""
    while Raw.made:
        Raw.made.pop().close()
    while launched:
        process = launched.pop()
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


class Sidecar:
    """`harmony-mem serve` as a child process."""

    def __init__(
        self, directory: str, *flags: str, name: str = "s.sock", limit_files: int = 0, lasting: bool = False
    ) -> None:
        self.path = os.path.join(directory, name)
        self.log_path = os.path.join(directory, f"{name}.log")
        command = [sys.executable, "-X", "dev", "-W", "error", "-m", "harmony_mem", "serve", "--socket", self.path]
        if limit_files:
            command = ["sh", "-c", f'ulimit -n {limit_files}; exec "$@"', "sh", *command]
        with open(self.log_path, "wb") as log:
            begin = subprocess.Popen if lasting else launch
            self.process: subprocess.Popen[Any] = begin([*command, *flags], stdout=subprocess.PIPE, stderr=log)
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        assert line == f"listening on {self.path}\n", self.log_text()

    def raw(self, timeout: float = 10.0) -> Raw:
        return Raw(self.path, timeout)

    def log_text(self) -> str:
        return Path(self.log_path).read_text()

    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log_text().splitlines()]

    def incidents(self) -> list[dict[str, Any]]:
        return [line for line in self.log() if line["event"] == "internal"]

    def stop(self) -> int:
        """Ends it by SIGTERM and returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(20)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def resident_kb(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)
