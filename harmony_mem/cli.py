"""The command line: harmony-mem serve | ping | stats | shutdown | demo.

Exit codes: 0 done; 1 the command failed (no sidecar there, another one runs, an error answered); 2 the command line
is wrong; 141 the reader of our output went away.

Options are read by a few lines of our own: argparse would stay in the memory of the sidecar, 1.6 MB on a board.
"""

from __future__ import annotations

import os
import sys

from harmony_mem._version import __version__
from harmony_mem.errors import HarmonyMemError, OptionError, nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    # flag: (name of its value in the help, what reads it, what it says)
    Flags = dict[str, tuple[str, Callable[[str], Any], str]]

__all__ = ["main"]

_BROKEN_PIPE = 141  # what a shell reports for a program that SIGPIPE ended


class _Usage(Exception):
    """The command line is wrong."""


def _mode(text: str) -> int:
    value = int(text, 8)
    if not 0 <= value <= 0o777:
        raise ValueError
    return value


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


_SOCKET: Flags = {
    "--socket": ("PATH", str, "the socket (default: harmony_mem/sidecar.sock in the user's runtime directory)")
}


def _serve_flags() -> Flags:
    from harmony_mem.sidecar.limits import LIMITS

    flags: Flags = {**_SOCKET, "--mode": ("OCTAL", _mode, "the mode of the socket file (default: 0600)")}
    for name, (default, _, stops) in LIMITS.items():
        flags[f"--{name.replace('_', '-')}"] = ("N", _positive, f"limit (default: {default}): {stops}")
    return flags


def _read(command: str, flags: Flags, words: list[str]) -> dict[str, Any]:
    """The values of `--flag VALUE` and `--flag=VALUE`, by flag. Raises _Usage."""
    values: dict[str, Any] = {}
    todo = iter(words)
    for word in todo:
        flag, equals, text = word.partition("=")
        if flag not in flags:
            raise _Usage(f"{command}: unknown option {flag!r}{nearest(flag[:64], list(flags))}")
        name, read, _ = flags[flag]
        if not equals:
            text = next(todo, "")
        try:
            if not text:
                raise ValueError
            values[flag] = read(text)
        except ValueError:
            raise _Usage(f"{command}: {flag} takes {name}, not {text!r}") from None
    return values


def _serve(values: dict[str, Any]) -> int:
    from harmony_mem.sidecar.server import Server
    from harmony_mem.sidecar.socketfile import default_path

    path = values.pop("--socket", None) or default_path()
    mode = values.pop("--mode", 0o600)
    limits = {flag[2:].replace("-", "_"): value for flag, value in values.items()}

    def announce() -> None:
        try:
            print(f"listening on {path}", flush=True)
        except BrokenPipeError:
            _mute_stdout()  # whoever started it does not want to know

    Server(path, mode=mode, limits=limits).run(ready=announce)
    return 0


def _client(values: dict[str, Any]) -> Any:
    from harmony_mem.sidecar.client import Client

    return Client(values.get("--socket"), name="harmony-mem")


def _ping(values: dict[str, Any]) -> int:
    with _client(values) as client:
        print(f"{client.server} answered in {client.ping() * 1e6:.0f} microseconds")
    return 0


def _stats(values: dict[str, Any]) -> int:
    from harmony_mem.sidecar.log import to_json

    with _client(values) as client:
        for name, value in client.stats().items():
            print(f"{name}: {value if isinstance(value, str) else to_json(value)}")
    return 0


def _shutdown(values: dict[str, Any]) -> int:
    with _client(values) as client:
        client.shutdown()
    return 0


def _demo(words: list[str]) -> int:
    from harmony_mem.simulate.demo import main as demo

    return demo(words) or 0


# command: (what it says, its flags, what it does)
_COMMANDS: dict[str, tuple[str, Callable[[], Flags], Callable[[dict[str, Any]], int]]] = {
    "serve": ("run the sidecar in the foreground; SIGTERM and SIGINT drain and end it", _serve_flags, _serve),
    "ping": ("ask the sidecar for a sign of life", lambda: _SOCKET, _ping),
    "stats": ("print the counters of the sidecar", lambda: _SOCKET, _stats),
    "shutdown": ("ask the sidecar to drain and end", lambda: _SOCKET, _shutdown),
}
_DEMO = "replay a conversation of 120 turns through the sidecar, under each memory"


def _help() -> str:
    lines = ["usage: harmony-mem COMMAND [OPTIONS]", "", "commands:"]
    for name, (says, _, _) in _COMMANDS.items():
        lines.append(f"  {name:10}{says}")
    lines += [
        f"  {'demo':10}{_DEMO}",
        "",
        "harmony-mem COMMAND --help tells the options; harmony-mem --version the version.",
        "exit codes: 0 done, 1 failed, 2 wrong command line",
    ]
    return "\n".join(lines)


def _help_of(command: str) -> str:
    says, flags, _ = _COMMANDS[command]
    lines = [f"usage: harmony-mem {command} [OPTIONS]", "", says, "", "options:"]
    for flag, (name, _, text) in flags().items():
        lines += [f"  {flag} {name}", f"        {text}"]
    return "\n".join(lines)


def _run(words: list[str]) -> int:
    command = words[0] if words else "--help"
    if command in ("--help", "-h", "help"):
        print(_help())
        return 0 if words else 2
    if command in ("--version", "-V"):
        print(f"harmony-mem {__version__}")
        return 0
    if command == "demo":
        return _demo(words[1:])
    if command not in _COMMANDS:
        raise _Usage(f"unknown command {command[:64]!r}{nearest(command[:64], [*_COMMANDS, 'demo'])}")
    if "--help" in words or "-h" in words:
        print(_help_of(command))
        return 0
    _, flags, run = _COMMANDS[command]
    return run(_read(command, flags(), words[1:]))


def _fill_standard_fds() -> None:
    """Opens what is closed of the descriptors 0 to 2: else a socket would get the number, and our log its bytes."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one


def _flush() -> None:
    if sys.stdout is not None:  # None when it was closed before we began
        sys.stdout.flush()


def _mute_stdout() -> None:
    """Points stdout at nothing, so that Python's flush at exit does not fail a second time."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def main(argv: list[str] | None = None) -> int:
    """Runs the command in `argv` (None: the process's own) and returns its exit code."""
    try:
        _fill_standard_fds()
        code = _run(sys.argv[1:] if argv is None else argv)
        _flush()
        return code
    except BrokenPipeError:
        _mute_stdout()
        return _BROKEN_PIPE
    except KeyboardInterrupt:
        return 130
    except _Usage as error:
        print(f"harmony-mem: {error}\nharmony-mem --help tells what there is", file=sys.stderr)
        return 2
    except OptionError as error:
        print(f"harmony-mem: {error}", file=sys.stderr)
        return 2
    except (HarmonyMemError, OSError) as error:
        print(f"harmony-mem: {error}", file=sys.stderr)
        return 1
