"""`harmony-mem demo`: a long conversation through a real sidecar, under each memory, and a table to compare them.

Every memory gets a sidecar process of its own, so that the memory column compares like with like: what a process takes
that has served this conversation and nothing else.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from unicodedata import combining, east_asian_width

from harmony_mem.errors import HarmonyMemError

from .conversation import read, shipped, text_of
from .run import Report, SimulationError, replay

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Any, Self

    from .conversation import Conversation, Message

__all__ = ["Sidecar", "compare", "main", "shorten", "table"]

TURNS = (15, 60, 120)
MAX_TOKENS = 4096

START_SECONDS = 20.0
STOP_SECONDS = 10.0
POLL_SECONDS = 0.01
LISTENING = "listening on "
LONGEST_PATH = 106  # bytes of a socket's path that the sidecar allows

EXCERPT_MESSAGES = 4
EXCERPT_COLUMNS = 110


class Sidecar:
    """`harmony-mem serve` on a socket in a directory of its own, from entering the block to leaving it.

    Raises SimulationError with what the sidecar wrote when it does not start, or does not end with 0 on SIGTERM.
    """

    def __init__(self) -> None:
        self.directory = tempfile.mkdtemp(prefix="hm-")
        self.path = os.path.join(self.directory, "s")
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        code, wrote = self._end()
        if kind is None and code != 0:
            raise SimulationError(f"the sidecar ended with {code} on SIGTERM, not with 0{wrote}")

    @property
    def resident_kb(self) -> int | None:
        """Resident memory of the process now; None where the system has no /proc."""
        if self._process is None:
            return None
        try:
            with open(f"/proc/{self._process.pid}/status", encoding="ascii", errors="replace") as file:
                return next((int(line.split()[1]) for line in file if line.startswith("VmRSS:")), None)
        except OSError:
            return None

    def _start(self) -> None:
        if len(os.fsencode(self.path)) > LONGEST_PATH:
            raise SimulationError(f"{self.path} is too long for a socket: set TMPDIR to a directory with a short name")
        # What the sidecar would read or write of the user's own stays out of the measurement.
        own = dict.fromkeys(("XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME"), self.directory)
        # The package that runs here is the one to measure, even when it is not installed.
        package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        own["PYTHONPATH"] = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
        # Files, not pipes: nobody has to read them while the conversation runs.
        with open(self._file("out"), "wb") as out, open(self._file("err"), "wb") as err:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "harmony_mem", "serve", "--socket", self.path],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**os.environ, **own},
                start_new_session=True,  # Ctrl-C in the terminal is ours; the sidecar is then stopped in order
            )
        deadline = time.monotonic() + START_SECONDS
        while LISTENING not in self._text("out"):
            if (code := self._process.poll()) is not None:
                raise SimulationError(f"the sidecar ended with {code} before it listened{self._wrote()}")
            if time.monotonic() > deadline:
                raise SimulationError(f"the sidecar did not listen within {START_SECONDS:.0f} s{self._wrote()}")
            time.sleep(POLL_SECONDS)

    def _end(self) -> tuple[int | None, str]:
        """Stops the process and removes the directory: its exit code, and what it wrote."""
        code = None
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGTERM)
            try:
                code = process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait()
        wrote = self._wrote()
        shutil.rmtree(self.directory, ignore_errors=True)
        return code, wrote

    def _file(self, name: str) -> str:
        return os.path.join(self.directory, name)

    def _text(self, name: str) -> str:
        try:
            with open(self._file(name), encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return ""

    def _wrote(self) -> str:
        """The end of its stderr, to put behind an error text."""
        text = self._text("err").strip()
        return "; it wrote:\n" + text[-2000:] if text else "; it wrote nothing"


class Result:
    """What one memory did: the report, its budget, and the most memory its sidecar took."""

    __slots__ = ("budget", "report", "resident_kb")

    def __init__(self, report: Report, budget: int, resident_kb: int | None) -> None:
        self.report = report
        self.budget = budget
        self.resident_kb = resident_kb


def compare(
    conversations: Sequence[Conversation],
    architectures: Sequence[str],
    *,
    max_tokens: int = MAX_TOKENS,
    progress: Callable[[str, int, int], None] | None = None,
) -> dict[str, Result]:
    """Replays all conversations under each memory, each through a sidecar of its own.

    `progress` is told the memory, the number of the conversation (from 0) and the turn that is done. Raises
    HarmonyMemError, which names the memory and the conversation.
    """
    from harmony_mem.sidecar.client import Client

    results = {}
    for architecture in architectures:
        runs, budget, resident = [], max_tokens, None
        with Sidecar() as sidecar, Client(sidecar.path, name="demo") as client:
            for number, conversation in enumerate(conversations):

                def done(turn: int, number: int = number, architecture: str = architecture) -> None:
                    if progress:
                        progress(architecture, number, turn)

                try:
                    # Files name conversations as they like; a number is a name that every sidecar takes.
                    session = client.open("demo", f"conversation-{number}", architecture, max_tokens=max_tokens)
                    budget = session.stats()["budget"]
                    if budget > max_tokens:
                        raise SimulationError(f"the budget is {budget} tokens, although max_tokens is {max_tokens}")
                    runs.append(replay(conversation, session, budget=budget, progress=done))
                    resident = max(filter(None, (resident, sidecar.resident_kb)), default=None)
                    session.close()
                except HarmonyMemError as error:
                    raise SimulationError(f"{architecture}, {conversation.id!r}: {error}") from error
        results[architecture] = Result(Report(runs), budget, resident)
    return results


# ---------------------------------------------------------------------------------------------- what is printed
def width(text: str) -> int:
    """Columns on a terminal: a wide character takes two, a combining one none."""
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def shorten(text: str, columns: int) -> str:
    """One line of at most this many columns."""
    text = " ".join(text.split())
    if width(text) <= columns:
        return text
    kept = ""
    for char in text:
        if width(kept + char) > columns - 1:
            break
        kept += char
    return kept + "…"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned by terminal width, the first to the left and the others to the right; a rule below the heads."""
    widths = [max(width(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [" " * (size - width(cell)) + cell for cell, size in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([row[0] + " " * (widths[0] - width(row[0])), *cells]))
    lines.insert(1, "  ".join("-" * size for size in widths))
    return "\n".join(lines)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}".replace("%", " %")


def _rows(results: dict[str, Result]) -> list[list[str]]:
    reports = [result.report for result in results.values()]

    def row(name: str, value: Callable[[Report], str]) -> list[str]:
        return [name, *(value(report) for report in reports)]

    def tokens_at(turn: int) -> list[str]:
        return row(f"request tokens, turn {turn}", lambda report: _number(report.tokens_at(turn)))

    return [
        ["", *results],
        *(tokens_at(turn) for turn in TURNS),
        row("request tokens, last call", lambda report: _number(report.last_tokens)),
        row("request tokens, mean", lambda report: _number(report.mean_tokens)),
        row("request tokens, largest", lambda report: _number(report.largest)),
        ["budget", *(_number(result.budget) for result in results.values())],
        row("early facts in the last prompt", lambda report: _percent(report.facts_final)),
        row("early facts, mean of the last 30 turns", lambda report: _percent(report.facts_late)),
        row("calls that start with the whole previous prompt", lambda report: _percent(report.whole_prefix)),
        row("tokens in the start shared with the previous prompt", lambda report: _percent(report.shared_tokens)),
        row("extra model calls", lambda report: _number(report.extra_model_calls)),
        row("microseconds per turn, median", lambda report: _number(report.turn_us)),
        [
            "sidecar's resident memory, MB",
            *("-" if r.resident_kb is None else f"{r.resident_kb / 1024:.1f}" for r in results.values()),
        ],
    ]


def _excerpt(messages: list[Message], columns: int) -> str:
    """The first messages of a prompt and its last one, a line each."""

    def line(message: Message) -> str:
        return shorten(f"{message['role']}: {text_of(message)}", columns - 2)

    lines = [line(message) for message in messages[:EXCERPT_MESSAGES]]
    if len(messages) > EXCERPT_MESSAGES:
        if between := len(messages) - EXCERPT_MESSAGES - 1:
            lines.append(f"… {between} more")
        lines.append(line(messages[-1]))
    return "\n".join("  " + text for text in lines)


class _Progress:
    """One line on stderr, drawn over on a terminal; elsewhere one plain line for each memory."""

    def __init__(self, conversations: Sequence[Conversation]) -> None:
        self.conversations = conversations
        self.terminal = sys.stderr.isatty()
        self.drawn = 0.0

    def __call__(self, architecture: str, number: int, turn: int) -> None:
        turns, count = self.conversations[number].turns, len(self.conversations)
        last = turn == turns and number + 1 == count
        if not last and (not self.terminal or time.monotonic() - self.drawn < 0.1):
            return
        self.drawn = time.monotonic()
        where = f"conversation {number + 1}/{count}, " if count > 1 else ""
        line = f"{architecture}: {where}turn {turn}/{turns}"
        if self.terminal:
            line = f"\r\x1b[K{line}"
        print(line, end="\n" if last else "", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    # Imported here: `harmony-mem serve` shares the command line with the demo, and must not carry it.
    import argparse

    parser = argparse.ArgumentParser(
        prog="harmony-mem demo",
        description="Replays a conversation of 120 turns through the sidecar under each memory and compares them.",
    )
    parser.add_argument("--data", metavar="FILE", help="a conversation of your own, JSON lines, also gzipped")
    parser.add_argument("--architectures", metavar="A,B", help="the memories to compare (default: all there are)")
    parser.add_argument("--max-tokens", metavar="N", type=int, default=MAX_TOKENS, help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    return parser


def _architectures(text: str | None) -> list[str]:
    from harmony_mem.errors import OptionError, nearest

    from ..create import ARCHITECTURES

    names = [name.strip() for name in text.split(",")] if text else list(ARCHITECTURES)
    for name in names:
        if name not in ARCHITECTURES:
            raise OptionError(f"--architectures: unknown memory {name!r}{nearest(name, list(ARCHITECTURES))}")
    return list(dict.fromkeys(names))


def _end(number: int, frame: object) -> None:
    """On a signal that ends the demo: out through all blocks, so that no sidecar is left behind."""
    raise SystemExit(128 + number)


def main(argv: list[str] | None = None) -> int:
    """Runs the demo; the exit code: 0 done, 1 the sidecar or a memory failed, 2 wrong command line or file."""
    try:
        options = _parser().parse_args(sys.argv[1:] if argv is None else argv)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    try:
        if options.max_tokens < 1:
            raise ValueError(f"--max-tokens must be at least 1, not {options.max_tokens}")
        architectures = _architectures(options.architectures)
        conversations = read(options.data) if options.data is not None else [shipped()]
    except OSError as error:
        print(f"harmony-mem demo: {options.data}: {error.strerror or error}", file=sys.stderr)
        return 2
    except ValueError as error:  # ConversationError and OptionError are such
        print(f"harmony-mem demo: {error}", file=sys.stderr)
        return 2
    turns = sum(conversation.turns for conversation in conversations)
    facts = sum(len(conversation.facts) for conversation in conversations)
    ends = {number: signal.signal(number, _end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        results = compare(
            conversations, architectures, max_tokens=options.max_tokens, progress=_Progress(conversations)
        )
    except HarmonyMemError as error:
        print(f"\nharmony-mem demo: {error}", file=sys.stderr)
        return 1
    finally:
        for number, handler in ends.items():
            signal.signal(number, handler)
    if options.json:
        memories = {
            name: {**result.report.as_dict(TURNS), "budget": result.budget, "resident_kb": result.resident_kb}
            for name, result in results.items()
        }
        whole: dict[str, Any] = {"data": options.data, "conversations": len(conversations), "turns": turns}
        print(json.dumps({**whole, "facts": facts, "max_tokens": options.max_tokens, "memories": memories}))
        return 0
    what = conversations[0].id if len(conversations) == 1 else f"{len(conversations)} conversations of {options.data}"
    print(f"\n{what}: {turns} turns, {facts} early facts, max_tokens={options.max_tokens}\n")
    print(table(_rows(results)))
    print("\nWhat the model is given on the last call:")
    columns = min(shutil.get_terminal_size((EXCERPT_COLUMNS, 24)).columns, EXCERPT_COLUMNS)
    for name, result in results.items():
        final = result.report.runs[0].final
        print(f"\n{name}, {len(final)} messages:\n{_excerpt(final, columns)}")
    return 0
