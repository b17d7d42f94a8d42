"""Strict recall of a memory: does the prompt still hold what was said, word for word, when it is asked about?

    python bench/recall_memory.py --data conversations.jsonl.gz [--architecture layered] [--budget 2200] [--limit N]

--data: JSON lines, plain or gzipped, {"turns": [{role, content, timestamp?}], "questions": [{q, evidence,
evidence_mode}]}; evidence holds 0-based numbers of turns, all of which are needed, or one when evidence_mode is
"any". Each conversation goes through a fresh memory once; then every question is put as messages(query=...). A prompt
over the budget counts as a miss.
"""

from __future__ import annotations

import argparse
import random
from typing import Any

from recall_split import read, tokens

import harmony_mem as hm

PER_MESSAGE = 4
FIRST_TIME = 1_704_067_200_000


def text_of(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def answers(row: dict[str, Any], architecture: str, budget: int) -> list[tuple[bool, bool]]:
    """For each question: whether its evidence is in the prompt, and whether that lies in the first quarter."""
    memory = hm.create_memory(architecture, max_tokens=budget, reserve_tokens=0, counter=tokens)
    clock = FIRST_TIME
    for turn in row["turns"]:
        clock = turn.get("timestamp") or clock + 60_000
        memory.add({"role": turn["role"], "content": turn["content"]}, time=clock)
    memory.settle()
    out = []
    for question in row["questions"]:
        if not question.get("evidence"):
            continue
        texts = [text_of(message) for message in memory.messages(question["q"])]
        wanted = [row["turns"][i]["content"].strip() for i in question["evidence"]]
        found = [any(gold in text for text in texts) for gold in wanted]
        fits = sum(PER_MESSAGE + tokens(text) for text in texts) <= budget
        hit = fits and (any(found) if question.get("evidence_mode") == "any" else all(found))
        out.append((hit, max(question["evidence"]) / len(row["turns"]) <= 0.25))
    return out


def share(hits: list[bool]) -> float:
    return 100 * sum(hits) / len(hits) if hits else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--architecture", default="layered", choices=hm.ARCHITECTURES)
    parser.add_argument("--budget", type=int, default=2200)
    parser.add_argument("--limit", type=int)
    given = parser.parse_args()
    rows = [answers(row, given.architecture, given.budget) for row in read(given.data)[: given.limit]]
    dice = random.Random(1)
    draws = sorted(share([hit for _ in rows for hit, _ in dice.choice(rows)]) for _ in range(1000))
    every = [hit for row in rows for hit, _ in row]
    early = [hit for row in rows for hit, first in row if first]
    low, high = draws[25], draws[974]
    print(
        f"{given.architecture}, {given.budget} tokens: strict {share(every):.1f} % [{low:.1f}, {high:.1f}] "
        f"of {len(every)} questions in {len(rows)} conversations; early {share(early):.1f} % of {len(early)}"
    )


if __name__ == "__main__":
    main()
