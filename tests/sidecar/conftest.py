"""Sidecars for the tests, each in a process of its own."""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from sidecar_process import Raw, Sidecar, Start, clean_up


@pytest.fixture
def directory() -> Iterator[str]:
    # Socket paths are short: tmp_path may exceed the 106 bytes that a Unix socket takes.
    made = tempfile.mkdtemp(prefix="hm")
    yield made
    clean_up()
    shutil.rmtree(made)


@pytest.fixture
def start(directory: str) -> Iterator[Start]:
    """Starts sidecars; at the end each must end by itself with code 0 and without an incident in its log."""
    running: list[Sidecar] = []

    def begin(*flags: str, **options: Any) -> Sidecar:
        running.append(Sidecar(directory, *flags, **options))
        return running[-1]

    yield begin
    for sidecar in running:
        killed = sidecar.process.poll() == -signal.SIGKILL
        assert sidecar.stop() == 0 or killed
        assert sidecar.incidents() == []


@pytest.fixture
def sidecar(start: Start) -> Sidecar:
    return start()


@pytest.fixture
def raw(sidecar: Sidecar) -> Raw:
    return sidecar.raw()


@pytest.fixture(scope="session")
def long_running() -> Iterator[Sidecar]:
    made = tempfile.mkdtemp(prefix="hm")
    sidecar = Sidecar(made, lasting=True)
    yield sidecar
    assert sidecar.stop() == 0
    assert sidecar.incidents() == []
    shutil.rmtree(made)


@pytest.fixture
def shared_raw(long_running: Sidecar) -> Iterator[Raw]:
    """A connection to one sidecar that serves many tests: quick, for tests that look at one session only (u, s)."""
    raw = long_running.raw()
    yield raw
    raw.close()
    with long_running.raw() as other:
        other.call("close", {"user": "u", "session": "s"})
