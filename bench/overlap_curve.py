"""What overlap_tokens buys: how much of a prompt is the start of the one before, and how many tokens are kept for it.

    python bench/overlap_curve.py

Sliding memory, 4,096 tokens, two conversations of 120 turns. "shipped" is the Chinese one of the package with its
tool calls, 17,000 tokens; "talk" has one question and one answer a turn, 5 to 90 English words each, 9,000 tokens.
The prompt is asked for before each assistant message. Prints a Markdown table.
"""

from __future__ import annotations

from statistics import fmean

import measure

import harmony_mem as hm
from harmony_mem.simulate import Conversation, Report, replay, shipped

BUDGET = 4096
ARTICLE = 320  # tokens: the overlap that the reference article gives


def line(name: str, overlap: int, conversations: list[Conversation]) -> str:
    cells = [name, str(overlap)]
    for conversation in conversations:
        memory = hm.create_memory("sliding", max_tokens=BUDGET, overlap_tokens=overlap)
        report = Report([replay(conversation, memory, budget=BUDGET)])
        late = fmean(call.tokens for call in report.runs[0].calls if call.turn > 60)  # full for a while
        cells += [f"{report.whole_prefix:.1%}", f"{report.shared_tokens:.1%}", f"{late:,.0f}"]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    conversations = [shipped(), Conversation("talk", [measure.SYSTEM, *measure.talk(240)])]
    overlaps = [(f"{share} %", BUDGET * share // 100) for share in range(0, 65, 5)] + [("the article's", ARTICLE)]
    each = ("calls that start with the whole previous prompt", "mean token reuse", "mean tokens kept, turns 61-120")
    heads = [f"{name}: {what}" for name in ("shipped", "talk") for what in each]
    print("| " + " | ".join(["overlap", "tokens", *heads]) + " |")
    print("|" + "--:|" * (2 + len(heads)))
    for name, overlap in sorted(overlaps, key=lambda one: one[1]):
        print(line(name, overlap, conversations))


if __name__ == "__main__":
    main()
