"""docs/rpc.md against the tables of the code, in both directions, and its example against a sidecar."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from sidecar_process import Sidecar

from harmony_mem.sidecar.codec import CODES
from harmony_mem.sidecar.dispatch import DEFAULT_RECALLED, FEATURES, METHODS, MOST_RECALLED, NOTIFICATIONS
from harmony_mem.sidecar.limits import LIMITS
from harmony_mem.sidecar.sessions import COUNTERS, OPTIONS, SUMMARIZERS

DOC = (Path(__file__).parents[2] / "docs" / "rpc.md").read_text()


def section(title: str) -> str:
    return DOC.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_methods_and_their_parameters() -> None:
    found = {}
    for name, params in re.findall(r"^### (\w+) `\{(.*)\}`$", section("Methods"), re.MULTILINE):
        words = params.split(", ") if params else []
        found[name] = ({w for w in words if not w.endswith("?")}, {w[:-1] for w in words if w.endswith("?")})
    assert found == {name: (set(required), set(optional)) for name, (_, required, optional) in METHODS.items()}


def test_error_codes() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", section("Error codes"), re.MULTILINE)
    assert listed == list(CODES)


def test_limits() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (\d+) \| (.*) \|$", section("Limits"), re.MULTILINE)
    assert {name: (int(default), int(least), stops) for name, default, least, stops in rows} == LIMITS
    named = set(re.findall(r"limits\.(\w+)", DOC))
    assert named <= set(LIMITS)


def test_options() -> None:
    text = section("Methods").split("### open")[1].split("###")[0]
    assert {name for name in OPTIONS if f"`{name}`" in text} == set(OPTIONS)
    assert all(f"`{name}`" in text for name in [*COUNTERS, *SUMMARIZERS])
    from harmony_mem.memory import ARCHITECTURES

    assert all(f"`{name}`" in text for name in ARCHITECTURES)


def test_notifications() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", section("Notifications"), re.MULTILINE)
    assert {name: tuple(re.findall(r"`(\w+)`", params)) for name, params in rows} == NOTIFICATIONS


def test_features_and_figures() -> None:
    text = section("Methods")
    listed = text.split("`features`")[1].split(")")[0]
    assert re.findall(r"`(\w+)`", listed) == FEATURES
    assert f"from 1 to {MOST_RECALLED}, {DEFAULT_RECALLED} when not given" in text.replace("\n", " ")


def test_events_of_the_log() -> None:
    source = (Path(__file__).parents[2] / "harmony_mem" / "sidecar" / "server.py").read_text()
    events = set(re.findall(r'_log\(\s*"(\w+)"', source))
    assert events
    assert {event for event in events if f"`{event}`" in section("Log")} == events


def test_the_frames_shown_are_the_frames_sent(sidecar: Sidecar) -> None:
    request, response = (
        bytes.fromhex(line)
        for line in re.findall(r"^    ([0-9a-f]{2}(?: +[0-9a-f]{2})+)$", section("Frames"), re.MULTILINE)
    )
    raw = sidecar.raw()
    raw.send(request)
    assert raw.exactly(len(response)) == response


def test_the_python_example_runs(sidecar: Sidecar) -> None:
    code = section("From Python").split("```python\n")[1].split("```")[0]
    code = code.replace("Client()", f"Client({sidecar.path!r})")
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "[{'role': 'user', 'content': '导航到浦东机场'}]\n"
