"""What the hot paths may cost, counted in steps and not in time: such tests mean the same on a busy machine.

The C core is counted in instructions, by valgrind; the binding in blocks that Python's allocator has in use.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgpack
import pytest

import harmony_mem as hm

ROOT = Path(__file__).parent.parent
OPERATIONS = 20_000
INSTRUCTIONS = 415
"""Of one append + evict of 200 bytes in the steady state of bench/core_bench.c, memcpy and the bench's own loop
included. Measured with gcc 12 -O2 on x86-64."""


def conversation(count: int) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[i % 2], "content": f"message {i} " + "文" * (i % 40)} for i in range(count)]


def fill(memory: hm.Memory, messages: list[dict[str, str]], times: int) -> None:
    for _ in range(times):
        for message in messages:
            memory.add(message)


@pytest.mark.parametrize("counter", ["estimate", "chars/2", lambda text: len(text) // 2])
@pytest.mark.parametrize("history", [0, 1 << 18])
def test_add_keeps_nothing_in_steady_state(counter, history) -> None:
    messages = conversation(400)
    memory = hm.create_memory("sliding", max_tokens=2048, counter=counter, history_bytes=history)
    fill(memory, messages, 20)
    core, blocks = memory.stats()["core_bytes"], sys.getallocatedblocks()
    fill(memory, messages, 50)
    # 20,000 adds: one block kept in a hundred would be 200. The window breathes by some dicts.
    assert abs(sys.getallocatedblocks() - blocks) < 100
    assert memory.stats()["core_bytes"] == core


def test_what_leaves_memory_is_released() -> None:
    text = "released " + "x" * 50
    message = {"role": "user", "content": text}
    before = sys.getrefcount(text), sys.getrefcount(message)
    memory = hm.create_memory("fixed", max_messages=10, history_bytes=0)
    for _ in range(1000):
        memory.add(message)
    assert sys.getrefcount(text) == before[0] + 10  # the ten copies in the window, and no more
    shown = memory.messages(copy=False)
    memory.close()
    assert sys.getrefcount(text) == before[0] + 10  # the list keeps them
    del shown
    assert (sys.getrefcount(text), sys.getrefcount(message)) == before


@pytest.mark.parametrize("copy", [True, False])
def test_messages_keeps_nothing(copy) -> None:
    memory = hm.create_memory("sliding")
    fill(memory, conversation(400), 2)
    memory.messages(copy=copy)
    blocks = sys.getallocatedblocks()
    for _ in range(2000):
        memory.messages(copy=copy)
    assert abs(sys.getallocatedblocks() - blocks) < 50


def test_the_wire_reply_keeps_nothing() -> None:
    memory = hm.create_memory("sliding", codec=(msgpack.packb, msgpack.unpackb))
    fill(memory, conversation(400), 2)
    memory.encoded_messages()
    blocks = sys.getallocatedblocks()
    for _ in range(500):
        memory.encoded_messages()
    assert abs(sys.getallocatedblocks() - blocks) < 50


# ---------------------------------------------------------------------------------------------------- instructions
def instructions(program: Path, records: int, operations: int) -> int:
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    run = subprocess.run(
        [*tool, str(program), str(records), str(operations)], capture_output=True, text=True, check=True
    )
    found = re.search(r"Collected *: *(\d+)", run.stderr)
    assert found, run.stderr
    return int(found[1])


@pytest.mark.slow
def test_instructions_of_append_and_evict(tmp_path) -> None:
    """Flat from 100 to 100,000 live records, and below a ceiling a quarter above what was measured."""
    if shutil.which("valgrind") is None:
        assert os.environ.get("CI") != "true", "valgrind is not installed, and CI has to run this test"
        pytest.skip("valgrind is not installed: the instructions of the C core are not counted")
    program = tmp_path / "core_bench"
    sources = [ROOT / "bench" / "core_bench.c", *sorted((ROOT / "csrc").glob("*.c"))]
    compiler = os.environ.get("CC", "cc")
    subprocess.run(
        [compiler, "-std=c11", "-O2", f"-I{ROOT / 'csrc'}", "-o", str(program), *map(str, sources)], check=True
    )
    each = {}
    for records in (100, 100_000):
        filled = instructions(program, records, 1)
        each[records] = (instructions(program, records, 1 + OPERATIONS) - filled) / OPERATIONS
    print(f"instructions of one append + evict: {each}")
    assert each[100_000] / each[100] <= 1.2
    assert max(each.values()) <= INSTRUCTIONS * 1.25
