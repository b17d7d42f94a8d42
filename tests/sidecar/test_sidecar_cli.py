"""The command line, as a process."""

from __future__ import annotations

import subprocess
import sys

import pytest
from sidecar_process import Sidecar

import harmony_mem as hm
from harmony_mem.sidecar.limits import LIMITS

COMMAND = [sys.executable, "-X", "dev", "-W", "error", "-m", "harmony_mem"]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    result = subprocess.run([*COMMAND, *words], capture_output=True, text=True, timeout=20)
    assert "Traceback" not in result.stderr
    return result


def test_version_and_help() -> None:
    assert run("--version").stdout == f"harmony-mem {hm.__version__}\n"
    result = run("--help")
    assert result.returncode == 0
    for command in ("serve", "ping", "stats", "shutdown", "demo"):
        assert f"  {command}" in result.stdout
    assert run().returncode == 2
    help_of_serve = run("serve", "--help")
    assert help_of_serve.returncode == 0
    for name, (default, _, _) in LIMITS.items():
        assert f"--{name.replace('_', '-')} N" in help_of_serve.stdout
        assert f"(default: {default})" in help_of_serve.stdout
    assert "--socket PATH" in run("ping", "-h").stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["serv"], "did you mean 'serve'"),
        (["serve", "--sockt", "x"], "did you mean '--socket'"),
        (["serve", "x"], "unknown option 'x'"),
        (["serve", "--socket"], "--socket takes PATH"),
        (["serve", "--socket="], "--socket takes PATH"),
        (["serve", "--sessions", "many"], "--sessions takes N, not 'many'"),
        (["serve", "--sessions", "0"], "--sessions takes N"),
        (["serve", "--mode", "888"], "--mode takes OCTAL"),
        (["serve", "--mode", "7777"], "--mode takes OCTAL"),
        (["serve", "--session-bytes", "1"], "65536 or more"),
        (["ping", "--sessions", "1"], "unknown option '--sessions'"),
        (["ping", "--socket", "x" * 200], "at most 106"),
    ],
)
def test_wrong_command_lines(words: list[str], says: str) -> None:
    result = run(*words)
    assert result.returncode == 2
    assert says in result.stderr
    assert result.stdout == ""


def test_ping_stats_shutdown(sidecar: Sidecar) -> None:
    where = f"--socket={sidecar.path}"
    ping = run("ping", where)
    assert (ping.returncode, ping.stderr) == (0, "")
    assert ping.stdout.startswith(f"harmony_mem {hm.__version__} answered in ")
    stats = run("stats", where)
    assert f"pid: {sidecar.process.pid}\n" in stats.stdout
    assert "errors: {}\n" in stats.stdout
    assert run("shutdown", where).returncode == 0
    assert sidecar.process.wait(10) == 0
    for command in ("ping", "stats", "shutdown"):
        gone = run(command, where)
        assert gone.returncode == 1
        assert "no sidecar answers at" in gone.stderr


def test_a_reader_that_goes_away(sidecar: Sidecar) -> None:
    for words in (["stats", "--socket", sidecar.path], ["--help"]):
        process = subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        process.stderr.close()
        assert process.wait(20) == 141


def test_the_sidecar_stays_small() -> None:
    """Modules that cost a board megabytes are not loaded, whatever a serve needs."""
    program = (
        "import sys, harmony_mem.cli, harmony_mem.sidecar.server;"
        "print(sorted(set(sys.modules) & {'asyncio', 'logging', 'argparse', 'dataclasses', 'typing', 're', 'json',"
        " 'threading', 'tempfile', 'subprocess', 'hashlib', 'inspect', 'ssl', 'http', 'ctypes'}))"
    )
    result = subprocess.run([sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {program}"],
        capture_output=True, text=True, timeout=20, check=True)  # fmt: skip
    assert result.stdout == "[]\n"
