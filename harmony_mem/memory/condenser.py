"""The discipline of condensing: one run at a time, cooldown, time-out, background, backoff. What is condensed, and
what is done with the result, is the memory's business.

All methods but `work` are called under the memory's guard. Times are ms of the memory's clock, or of the monotonic
clock when it has none; a clock that jumps back never locks anything.
"""

from __future__ import annotations

import _thread
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Condenser", "Run"]

MAX_THREADS = 16
"""Background runs alive in this process, abandoned ones that never ended included. One more waits for its turn."""
GRACE = 0.002
LEAST_BACKOFF = 1_000
MOST_BACKOFF = 300_000

_threads = 0
_threads_lock = _thread.allocate_lock()


class Run:
    """One run of a summariser over one or more chunks."""

    __slots__ = ("abandoned", "born", "ended", "generation", "started")

    def __init__(self, generation: int, started: int) -> None:
        self.generation = generation
        self.started = started
        self.born = time.monotonic()
        self.abandoned = False  # its result is no longer wanted
        self.ended = _thread.allocate_lock()  # held while it runs
        self.ended.acquire()


class Condenser:
    """Decides when a run may start, and notes how runs end."""

    def __init__(self, background: bool, cooldown: float, timeout: float, clock: Callable[[], int] | None) -> None:
        self.counts = {"calls": 0, "failed": 0, "timed_out": 0, "stale": 0}
        self.running: Run | None = None
        self.last_error = ""
        self._failures = 0
        self._last_start: int | None = None
        self._retry_at: int | None = None
        self.configure(background, cooldown, timeout, clock)

    def configure(self, background: bool, cooldown: float, timeout: float, clock: Callable[[], int] | None) -> None:
        """cooldown and timeout are seconds; both are for background summarisers only."""
        self.background = background
        self.cooldown = int(cooldown * 1000) if background else 0
        self.timeout = int(timeout * 1000)
        self._clock = clock

    def now(self) -> int:
        """ms; only differences mean something."""
        return int(self._clock()) if self._clock is not None else time.monotonic_ns() // 1_000_000

    def wait(self) -> int:
        """ms until a run may start: 0 = now, -1 = not before the one that runs has ended."""
        self.give_up_overdue()
        if self.running is not None:
            return -1
        now = self.now()
        if self._last_start is not None and now < self._last_start:  # the clock jumped back
            self._last_start = now
            self._retry_at = None if self._retry_at is None else now + LEAST_BACKOFF
        waits = [0]
        if self._last_start is not None:
            waits.append(self._last_start + self.cooldown - now)
        if self._retry_at is not None:
            waits.append(self._retry_at - now)
        return max(waits)

    def until_next_look(self) -> int:
        """ms for which nothing can be started: what wait() says, or until the run that goes on would be given up."""
        wait = self.wait()
        if wait >= 0 or self.running is None:
            return max(wait, 0)
        return max(0, self.running.started + self.timeout - self.now())

    def give_up_overdue(self) -> None:
        """Abandons a run that has taken longer than the time-out: its late answer will be dropped."""
        run = self.running
        if run is not None and self.background and self.now() - run.started >= self.timeout:
            self.counts["timed_out"] += 1
            self.abandon()
            self.failed("no answer within the time-out")

    def abandon(self) -> None:
        """Whatever the run still answers is not wanted."""
        if self.running is not None:
            self.running.abandoned = True
            self.running = None

    def failed(self, why: str) -> None:
        """A run gave nothing: the next one comes after the backoff, which doubles with each failure in a row."""
        self.counts["failed"] += 1
        self.last_error = why
        self._failures += 1
        pause = max(self.cooldown, LEAST_BACKOFF) << min(self._failures - 1, 20)
        self._retry_at = self.now() + min(pause, max(MOST_BACKOFF, self.cooldown))

    def succeeded(self) -> None:
        """A chunk was condensed."""
        self._failures = 0
        self._retry_at = None

    def start(self, generation: int, work: Callable[[Run], Any]) -> bool:
        """Starts a run of `work(run)`: in a thread for a background summariser, else at once. False when no thread is
        to be had now."""
        run = Run(generation, self.now())
        if not self.background:
            self.running = run
            try:
                work(run)
            finally:
                self.end(run)
            return True
        global _threads
        with _threads_lock:
            if _threads >= MAX_THREADS:
                return False
            _threads += 1
        self.running = run
        self._last_start = run.started
        try:
            _thread.start_new_thread(_in_thread, (work, run))
        except RuntimeError:  # the system gives no more threads
            with _threads_lock:
                _threads -= 1
            self.running = None
            self.failed("no thread could be started")
            return False
        return True

    def grace(self) -> None:
        """Lets a run that has just begun end, for GRACE seconds from its start and no more: a summariser that answers
        at once is then in the very next prompt. Called without the guard, which the run needs."""
        run = self.running
        if run is None or not self.background:
            return
        left = run.born + GRACE - time.monotonic()
        if left > 0 and run.ended.acquire(timeout=left):
            run.ended.release()

    def end(self, run: Run) -> None:
        """The run is over, whatever came of it."""
        if self.running is run:
            self.running = None
        if run.ended.locked():
            run.ended.release()


def _in_thread(work: Callable[[Run], Any], run: Run) -> None:
    global _threads
    try:
        work(run)
    finally:
        with _threads_lock:
            _threads -= 1
