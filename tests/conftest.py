"""For every test: a limit in time that ends the run with all stacks printed, so that a hang is never a silent one."""

from __future__ import annotations

import faulthandler
from collections.abc import Iterator

import pytest

SECONDS = 300


@pytest.fixture(autouse=True)
def time_limit() -> Iterator[None]:
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
