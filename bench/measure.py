"""What the benchmarks share: the messages, the clock, and how two things are compared.

Times are CPU time of this process. Contenders take turns, round by round, so that whatever else the machine does hits
all of them; a time is the median over the rounds, and a ratio the median of the ratios within a round.
"""

from __future__ import annotations

import gc
import os
import random
import subprocess
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from time import process_time_ns

from harmony_mem.simulate import shipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Message = dict[str, Any]

ROOT = Path(__file__).resolve().parent.parent
SYSTEM = {"role": "system", "content": "You are a helpful assistant on a small board. " * 4}


def conversation(count: int) -> list[Message]:
    """User and assistant in turn; the texts are those of the shipped Chinese conversation, 38 characters on average."""
    spoken = [m["content"] for m in shipped().messages if m["role"] in ("user", "assistant")]
    texts = islice(cycle(text for text in spoken if isinstance(text, str) and text), count)
    return [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]


def letters(count: int) -> list[Message]:
    """The same roles with 200 Latin letters each."""
    text = "the quick brown fox jumps over a dog " * 5 + "and so on."
    return [{"role": ("user", "assistant")[i % 2], "content": f"{i:04} {text}"} for i in range(count)]


def talk(count: int, seed: int = 1) -> list[Message]:
    """Short questions of 5 to 25 English words and answers of 25 to 90, each another one."""
    dice = random.Random(seed)
    words = ("the", "a", "of", "and", "to", "in", "is", "you", "that", "it", "he", "was", "for", "on", "are", "window")
    return [
        {"role": role, "content": f"{i} " + " ".join(dice.choices(words, k=dice.randint(*span)))}
        for i, (role, span) in enumerate(islice(cycle((("user", (5, 25)), ("assistant", (25, 90)))), count))
    ]


def half(text: str) -> int:
    """A counter in Python that takes constant time."""
    return len(text) // 2


def per_operation(work: Callable[[], None], operations: int) -> float:
    """ns of CPU for one of `operations`, which one call of `work` does."""
    start = process_time_ns()
    work()
    return (process_time_ns() - start) / operations


def compare(works: dict[str, Callable[[], None]], operations: int, rounds: int) -> dict[str, list[float]]:
    """For each contender its times by operation, one for each round. A first round is not counted."""
    times: dict[str, list[float]] = {name: [] for name in works}
    gc.collect()
    for i in range(rounds + 1):
        for name, work in works.items():
            time = per_operation(work, operations)
            if i:
                times[name].append(time)
    return times


def ratio(slow: list[float], fast: list[float]) -> float:
    """How many times slower, round by round, median."""
    return median(a / b for a, b in zip(slow, fast, strict=True))


def core_bench() -> Path:
    """Builds core_bench.c together with the C core, as the extension is built: -O2."""
    out = ROOT / "build" / "bench" / "core_bench"
    out.parent.mkdir(parents=True, exist_ok=True)
    sources = [ROOT / "bench" / "core_bench.c", *sorted((ROOT / "csrc").glob("*.c"))]
    command = [os.environ.get("CC", "cc"), "-std=c11", "-O2", f"-I{ROOT / 'csrc'}", "-o", str(out), *map(str, sources)]
    subprocess.run(command, check=True)
    return out
