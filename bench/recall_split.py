"""Recall at a budget: how the shares of the prompt and the ranking decide whether a told fact is still there.

    python bench/recall_split.py --data conversations.jsonl --budget 1450 2200 4096 --recent 0.28 0.5
    python bench/recall_split.py --data conversations.jsonl --plain     # without the neighbour-aware ranking
    python bench/recall_split.py --speed 100000                         # bytes and time at this many messages

The prompt is rebuilt from the parts alone, without a memory around them: the newest messages up to `--recent` of the
budget, `--head` of it left free for a summary, the rest recalled. Costs: UTF-8 bytes / 3 rounded up, 5 a message, 3 a
prompt, 40 for the borders of the recalled block; a recalled line reads "role: text". A question counts when each of its
evidence messages stands in the prompt whole (one of them is enough where evidence_mode is "any").

--data: JSON lines, plain or gzipped, {"turns": [{role, content}], "questions": [{q, evidence, evidence_mode}]}.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from typing import Any

from harmony_mem.recall import Index, select
from harmony_mem.simulate.generate import generate
from harmony_mem.types import Source

BLOCK_BORDERS = 40


def tokens(text: str) -> int:
    return (len(text.encode("utf-8", "surrogatepass")) + 2) // 3


def read(path: str) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


class Split:
    """One conversation, indexed once, and what a prompt of it holds."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.turns = row["turns"]
        self.questions = [q for q in row["questions"] if q.get("evidence")]
        self.index = Index()
        for i, turn in enumerate(self.turns):
            self.index.add(Source(i + 1, i * 60_000, turn))
        self.alone = [5 + tokens(turn["content"]) for turn in self.turns]
        self.line = [tokens(f"\n{turn['role']}: {turn['content']}") for turn in self.turns]

    def held(self, query: str, budget: int, recent: float, head: float, plain: bool) -> set[int]:
        """The turns (from 0) that a prompt of this budget holds."""
        room, first = budget - 3 - int(head * budget), len(self.turns)
        left = min(room, int(recent * budget))
        while first and self.alone[first - 1] <= left:
            first -= 1
            left -= self.alone[first]
            room -= self.alone[first]
        now = len(self.turns) * 60_000
        if plain:
            order = [hit.seq for hit in self.index.search(query, k=1024, before=first + 1, now=now)]
        else:
            order = self.index.ranked(query, before=first + 1, now=now)
        recalled = select(order, lambda seq: self.line[seq - 1], room - BLOCK_BORDERS)
        return {seq - 1 for seq in recalled} | set(range(first, len(self.turns)))

    def score(self, budget: int, recent: float, head: float, plain: bool) -> list[tuple[bool, bool]]:
        """For each question: is it held, and is it early (told in the first quarter)?"""
        out = []
        for q in self.questions:
            held = self.held(q["q"], budget, recent, head, plain)
            test = any if q.get("evidence_mode") == "any" else all
            out.append((test(e in held for e in q["evidence"]), max(q["evidence"]) * 4 <= len(self.turns)))
        return out


def percent(values: list[bool]) -> str:
    return f"{100 * sum(values) / len(values):5.1f}" if values else "    -"


def table(name: str, rows: list[dict[str, Any]], args: argparse.Namespace) -> None:
    splits = [Split(row) for row in rows]
    print(f"{name}: {len(rows)} conversations, {sum(len(s.questions) for s in splits)} questions")
    print("  budget  recent  head  strict  early")
    for budget in args.budget:
        for recent in args.recent:
            results = [r for s in splits for r in s.score(budget, recent, args.head, args.plain)]
            strict, early = percent([ok for ok, _ in results]), percent([ok for ok, is_early in results if is_early])
            print(f"  {budget:6d}  {recent:6.2f}  {args.head:4.2f}   {strict}  {early}")


def speed(count: int) -> None:
    """Bytes a message, time of add, and of ranked at this many messages of generated talk with a number each."""
    import tracemalloc

    said = [m for seed in range(40) for m in generate(seed).messages]
    rng = random.Random(1)
    sources = []
    for i in range(count):
        message = rng.choice(said)
        sources.append(Source(i + 1, i * 60_000, {**message, "content": f"{message.get('content') or ''} {i}"}))
    Index().add(sources[0])
    tracemalloc.start()
    index = Index()
    for source in sources:
        index.add(source)
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    again, begin = Index(), time.process_time()
    for source in sources:
        again.add(source)
    each = (time.process_time() - begin) / count
    times = []
    for message in rng.sample(said, 400):
        begin = time.process_time()
        index.ranked(str(message.get("content")), before=count, now=count * 60_000, half_life=1e9)
        times.append(1e3 * (time.process_time() - begin))
    times.sort()
    print(
        f"{count} messages: {taken / count:.0f} bytes each (weight says {index.weight / count:.0f}), "
        f"add {1e6 * each:.0f} us"
    )
    print(f"ranked, CPU ms: p50 {times[200]:.2f}, p99 {times[395]:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=[], help="conversations to read")
    parser.add_argument("--budget", type=int, nargs="+", default=[1450, 2200, 4096])
    parser.add_argument("--recent", type=float, nargs="+", default=[0.28, 0.5, 0.73], help="shares of the budget")
    parser.add_argument("--head", type=float, default=0.0, help="share of the budget left free for a summary")
    parser.add_argument("--plain", action="store_true", help="BM25 alone")
    parser.add_argument("--speed", type=int, metavar="MESSAGES", help="also bytes and time at this many messages")
    args = parser.parse_args()
    if not args.data and not args.speed:
        parser.error("one of --data and --speed is needed")
    for path in args.data:
        table(path.rsplit("/", 1)[-1], read(path), args)
    if args.speed:
        speed(args.speed)


if __name__ == "__main__":
    main()
