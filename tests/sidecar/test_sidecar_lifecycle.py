"""The socket as a file, and the end of a sidecar."""

from __future__ import annotations

import os
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import msgpack
import pytest
from sidecar_process import Raw, Sidecar, Start, launch, wait_until

WHO = {"user": "u", "session": "s"}


def serve(*flags: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A `serve` that is expected to fail."""
    command = [sys.executable, "-m", "harmony_mem", "serve", *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, env={**os.environ, **environment})


# ---------------------------------------------------------------------------------------------------- the file
def test_mode_of_the_socket(start: Start) -> None:
    old = os.umask(0)
    try:
        sidecar = start()
        assert stat.S_IMODE(os.stat(sidecar.path).st_mode) == 0o600
        other = start("--mode", "0660", name="t.sock")
        assert stat.S_IMODE(os.stat(other.path).st_mode) == 0o660
    finally:
        os.umask(old)


def test_the_parent_directory_is_made_private(directory: str) -> None:
    old = os.umask(0)
    try:
        sidecar = Sidecar(directory, name="log")
        sidecar.stop()
        command = [sys.executable, "-m", "harmony_mem", "serve", "--socket", f"{directory}/a/b/s.sock"]
        process = launch(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert process.stdout is not None
        process.stdout.readline()
        assert stat.S_IMODE(os.stat(f"{directory}/a/b").st_mode) == 0o700
        process.terminate()
        process.communicate()
    finally:
        os.umask(old)


def test_a_live_socket_is_not_taken(sidecar: Sidecar, raw: Raw) -> None:
    result = serve("--socket", sidecar.path)
    assert result.returncode == 1
    assert "another sidecar runs at" in result.stderr
    assert "Traceback" not in result.stderr
    assert raw.call("ping", {}) == {}
    assert os.path.exists(sidecar.path)


def test_a_stale_socket_is_replaced(start: Start) -> None:
    first = start()
    first.process.kill()
    first.process.wait()
    assert stat.S_ISSOCK(os.stat(first.path).st_mode)
    second = start()
    raw = second.raw()
    assert raw.call("ping", {}) == {}
    raw.close()
    assert second.stop() == 0
    assert not os.path.exists(second.path)


def test_a_live_socket_of_another_program_is_left_alone(directory: str) -> None:
    path = f"{directory}/s.sock"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(path)
        other.listen(0)
        result = serve("--socket", path)
        assert result.returncode == 1
        assert "a program listens at" in result.stderr
        # The probe stands in the backlog, which has room for no other: the second one is told to come again.
        assert serve("--socket", path).returncode == 1
    assert stat.S_ISSOCK(os.stat(path).st_mode)


@pytest.mark.parametrize("kind", ["file", "directory", "link", "fifo"])
def test_what_is_no_socket_is_never_removed(directory: str, kind: str) -> None:
    path = Path(directory, "thing")
    if kind == "file":
        path.write_text("precious")
    elif kind == "directory":
        path.mkdir()
    elif kind == "link":
        Path(directory, "target").write_text("precious")
        path.symlink_to("target")
    else:
        os.mkfifo(path)
    result = serve("--socket", str(path))
    assert result.returncode == 2
    assert "is not a socket" in result.stderr
    assert os.path.lexists(path)
    if kind in ("file", "link"):
        assert path.read_text() == "precious"


def test_path_lengths(directory: str) -> None:
    room = 106 - len(directory) - 1
    sidecar = Sidecar(directory, name="n" * room)
    raw = sidecar.raw()
    assert raw.call("ping", {}) == {}
    raw.close()
    assert sidecar.stop() == 0
    result = serve("--socket", f"{directory}/{'n' * (room + 1)}")
    assert result.returncode == 2
    assert "107 bytes" in result.stderr
    assert "106" in result.stderr
    # Bytes count, not characters.
    result = serve("--socket", f"{directory}/{'字' * 35}")
    assert result.returncode == 2
    assert "at most 106" in result.stderr


def test_two_that_start_at_once(directory: str) -> None:
    """A stale file and several sidecars that find it in the same moment: one wins, and can be reached."""
    path = f"{directory}/s.sock"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(path)
    command = [sys.executable, "-m", "harmony_mem", "serve", "--socket", path]
    started = [launch(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    first_lines = [process.stdout.readline() for process in started if process.stdout]
    assert sorted(bool(line) for line in first_lines) == [False, False, False, True]
    raw = Raw(path)
    winner = started[first_lines.index(f"listening on {path}\n")]
    assert raw.call("stats", {})["pid"] == winner.pid
    raw.close()
    winner.terminate()
    for process in started:
        process.communicate(timeout=20)
    assert sorted(process.returncode for process in started) == [0, 1, 1, 1]


def test_a_socket_made_by_others_is_not_removed_at_the_end(start: Start) -> None:
    sidecar = start()
    os.unlink(sidecar.path)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(sidecar.path)
        assert sidecar.stop() == 0
        assert os.path.exists(sidecar.path)


@pytest.mark.parametrize("with_runtime_dir", [True, False])
def test_default_path(directory: str, with_runtime_dir: bool) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
    environment["TMPDIR"] = directory
    wanted = f"{directory}/harmony_mem-{os.getuid()}/sidecar.sock"
    if with_runtime_dir:
        environment["XDG_RUNTIME_DIR"] = f"{directory}/run"
        wanted = f"{directory}/run/harmony_mem/sidecar.sock"
    command = [sys.executable, "-m", "harmony_mem"]
    process = launch([*command, "serve"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    assert process.stdout is not None
    assert process.stdout.readline() == f"listening on {wanted}\n"
    for arguments in (["ping"], ["stats"], ["shutdown"]):
        result = subprocess.run([*command, *arguments], capture_output=True, text=True, env=environment, timeout=20)
        assert (result.returncode, result.stderr) == (0, "")
    process.communicate(timeout=20)
    assert process.returncode == 0


@pytest.mark.parametrize("how", ["open to others", "a link"])
def test_a_default_directory_that_others_made_is_refused(directory: str, how: str) -> None:
    place = Path(directory, f"harmony_mem-{os.getuid()}")
    if how == "a link":
        Path(directory, "elsewhere").mkdir(mode=0o700)
        place.symlink_to("elsewhere")
    else:
        place.mkdir()
        place.chmod(0o755)
    result = serve(TMPDIR=directory, XDG_RUNTIME_DIR="")
    assert result.returncode == 2
    assert "0700" in result.stderr


# ---------------------------------------------------------------------------------------------------- the end
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains(start: Start, number: int) -> None:
    """Every request that had arrived is answered, also those that one pass does not reach."""
    sidecar = start()
    raw = sidecar.raw()
    raw.call("open", {**WHO, "architecture": "fixed"})
    requests = [
        msgpack.packb([0, n, "add", {**WHO, "message": {"role": "user", "content": str(n)}}]) for n in range(900)
    ]
    sidecar.process.send_signal(signal.SIGSTOP)
    raw.send(b"".join(struct.pack(">I", len(body)) + body for body in requests))
    sidecar.process.send_signal(number)
    sidecar.process.send_signal(signal.SIGCONT)
    assert [raw.read()[1] for _ in requests] == list(range(900))
    assert raw.at_end()
    assert sidecar.process.wait(10) == 0
    assert not os.path.exists(sidecar.path)
    assert [line["event"] for line in sidecar.log()] == ["started", "stopped"]


def test_a_drain_sends_what_a_slow_reader_has_not_taken(start: Start) -> None:
    sidecar = start()
    raw = sidecar.raw()
    raw.call("open", {**WHO, "architecture": "sliding", "options": {"max_tokens": 1_000_000}})
    raw.call("add", {**WHO, "message": {"role": "user", "content": "z" * 100_000}})
    for _ in range(30):
        raw.send_request("messages", WHO)
    time.sleep(0.2)
    sidecar.process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    for _ in range(30):
        assert len(raw.read()[3]["messages"][0]["content"]) == 100_000
    assert raw.at_end()
    assert sidecar.process.wait(10) == 0


def test_a_drain_ends_though_a_client_takes_nothing(start: Start) -> None:
    sidecar = start()
    deaf, half = sidecar.raw(), sidecar.raw()
    deaf.call("open", {**WHO, "architecture": "sliding", "options": {"max_tokens": 1_000_000}})
    deaf.call("add", {**WHO, "message": {"role": "user", "content": "z" * 100_000}})
    for _ in range(30):
        deaf.send_request("messages", WHO)
    half.send(b"\0\0\1\0")
    time.sleep(0.3)
    begin = time.monotonic()
    sidecar.process.send_signal(signal.SIGTERM)
    assert sidecar.process.wait(20) == 0
    assert 3.0 < time.monotonic() - begin < 10.0  # the deaf one had its five seconds
    log = sidecar.log()
    assert [line["event"] for line in log] == ["started", "cut", "stopped"]
    assert log[1]["connections"] == 1


def test_a_drain_ends_though_a_client_sends_without_end(start: Start) -> None:
    sidecar = start()
    flood = sidecar.raw()

    def pour() -> None:
        frame = struct.pack(">I", 9) + msgpack.packb([0, 1, "ping", {}])
        try:
            while True:
                flood.send(frame * 1000)
        except OSError:
            pass

    def drink() -> None:
        try:
            while flood.sock.recv(1 << 16):
                pass
        except OSError:
            pass

    threads = [threading.Thread(target=pour), threading.Thread(target=drink)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    sidecar.process.send_signal(signal.SIGTERM)
    assert sidecar.process.wait(20) == 0
    for thread in threads:
        thread.join()
    # Its share was answered; it did not take until the deadline, which would have cut it off.
    assert [line["event"] for line in sidecar.log()] == ["started", "stopped"]


def test_shutdown_is_answered(start: Start) -> None:
    sidecar = start()
    raw, other = sidecar.raw(), sidecar.raw()
    first = raw.send_request("shutdown", {})
    second = raw.send_request("ping", {})
    assert raw.read() == [1, first, None, {}]
    assert raw.read() == [1, second, None, {}]
    assert raw.at_end()
    assert other.at_end()
    assert sidecar.process.wait(10) == 0


def test_clients_in_the_backlog_are_told(start: Start) -> None:
    sidecar = start()
    sidecar.process.send_signal(signal.SIGSTOP)
    waiting = [sidecar.raw() for _ in range(40)]
    sidecar.process.send_signal(signal.SIGTERM)
    sidecar.process.send_signal(signal.SIGCONT)
    outcomes: list[Any] = []
    for end in waiting:
        outcomes.append(end.code())
        assert end.at_end()
    # Some may have been accepted in the pass that the signal interrupted: those are closed without a word.
    assert outcomes == [(None, "shutting_down")] * 40
    assert sidecar.process.wait(10) == 0


def test_signals_without_clients_end_at_once(start: Start) -> None:
    sidecar = start()
    begin = time.monotonic()
    assert sidecar.stop() == 0
    assert time.monotonic() - begin < 3.0


def test_log_that_nobody_reads_does_not_stop_it(directory: str) -> None:
    path = f"{directory}/s.sock"
    read_end, write_end = os.pipe()
    command = [
        sys.executable,
        "-m",
        "harmony_mem",
        "serve",
        "--socket",
        path,
        "--connections",
        "1",
        "--stall-seconds",
        "1",
    ]
    process = launch(command, stdout=subprocess.PIPE, stderr=write_end)
    assert process.stdout is not None
    process.stdout.readline()
    os.set_blocking(write_end, False)
    try:
        while True:
            os.write(write_end, b"x" * 4096)  # fill the pipe
    except BlockingIOError:
        pass
    os.set_blocking(write_end, True)
    raw = Raw(path)
    raw.send(b"\0")
    assert raw.at_end()  # dropped as stalled, which is logged

    def line_dropped() -> bool:
        end = Raw(path)
        try:
            return bool(end.call("stats", {})["log_lines_dropped"] >= 1)
        finally:
            end.close()

    wait_until(line_dropped)
    process.terminate()
    assert process.wait(10) == 0
    process.stdout.close()
    os.close(read_end)
    os.close(write_end)


def test_stdout_and_stderr_closed(directory: str) -> None:
    path = f"{directory}/s.sock"
    command = [
        "sh",
        "-c",
        'exec "$@" >&- 2>&- <&-',
        "sh",
        sys.executable,
        "-m",
        "harmony_mem",
        "serve",
        "--socket",
        path,
    ]
    process = launch(command)
    wait_until(lambda: os.path.exists(path))
    raw = Raw(path)
    assert raw.call("ping", {}) == {}
    # No socket has taken the number of a standard stream: the log would be written into it.
    assert [os.readlink(f"/proc/{process.pid}/fd/{fd}") for fd in range(3)] == [os.devnull] * 3
    raw.close()
    process.terminate()
    assert process.wait(10) == 0


def test_slow_msgpack_is_refused(directory: str) -> None:
    flags = ("--socket", f"{directory}/s.sock")
    result = serve(*flags, MSGPACK_PUREPYTHON="1")
    assert result.returncode == 1
    assert "pure-Python fallback" in result.stderr
    assert not os.path.exists(f"{directory}/s.sock")
    environment = {**os.environ, "MSGPACK_PUREPYTHON": "1", "HARMONY_MEM_ALLOW_SLOW_MSGPACK": "1"}
    process = launch(
        [sys.executable, "-m", "harmony_mem", "serve", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    assert process.stdout is not None
    assert process.stdout.readline()
    raw = Raw(f"{directory}/s.sock")
    raw.send_frame(b"\x94\x00\x05\xa4ping\x81\xa1k" + b"\x91" * 100_000 + b"\x01")
    assert raw.code() == (5, "too_deep")
    raw.send_frame(b"\x94\x00\x05\xa4ping\x81\xa1k\xa2\xc3\x28")
    assert raw.code() == (5, "bad_frame")
    assert raw.call("ping", {}) == {}
    raw.close()
    process.terminate()
    process.communicate(timeout=10)
    assert process.returncode == 0
