"""A plain model of the window rules, as an oracle: lists, full recounts, no cleverness.

It is written from the rules in docs/architecture.md and shares no code with the package. Every question is answered by
composing a whole prompt and adding up its cost. Costs: one token a character, 5 a message, 5 a call, 3 a prompt.
"""

from __future__ import annotations

from typing import Any

Message = dict[str, Any]


class Record:
    def __init__(self, seq: int, message: Message) -> None:
        self.seq = seq
        self.message = message
        self.shown: Message | None = message  # as prompts show it; None = never
        self.pinned = False
        self.head = False
        self.joins = False
        self.retired = False  # a call without all its results, and something came after it
        self.user = 0  # seq of the user message of its turn, 0 before the first one

    @property
    def role(self) -> str:
        return self.message["role"]


def cost(message: Message, scale: int = 1) -> int:
    total = 5 + scale * (len(message.get("content") or "") + len(message.get("name") or ""))
    for call in message.get("tool_calls") or []:
        total += 5 + scale * (len(call["function"]["name"]) + len(call["function"]["arguments"]))
    return total


class Model:
    def __init__(self, budget: int, overlap: int = 0, max_messages: int | None = None, max_turns: int | None = None):
        self.limits(budget, overlap, max_messages, max_turns)
        self.records: list[Record] = []
        self.start = 0  # index of the first window record
        self.starts: dict[int, int] = {}  # seq -> seq of the window's first record, once that message was settled
        self.next_seq = 1
        self.scale = 1  # tokens a character

    def limits(self, budget: int, overlap: int, max_messages: int | None, max_turns: int | None) -> None:
        self.budget, self.overlap, self.max_messages, self.max_turns = budget, overlap, max_messages, max_turns

    # ------------------------------------------------------------------ structure
    def shown(self) -> list[Record]:
        return [r for r in self.records if r.shown is not None]

    def anchor(self) -> Record | None:
        return next((r for r in reversed(self.shown()) if r.role == "user"), None)

    def newest(self) -> Record | None:
        """First record of the newest shown group."""
        return next((r for r in reversed(self.shown()) if not r.joins and not r.head), None)

    def group(self, first: Record) -> list[Record]:
        after = self.records[self.records.index(first) + 1 :]
        out = [first]
        for r in after:
            if r.shown is None and not r.joins:
                continue
            if not r.joins:
                break
            out.append(r)
        return out

    def waiting(self) -> list[str]:
        """Ids of the calls of the newest group that have no result yet; empty when it makes none."""
        newest = self.newest()
        if newest is None:
            return []
        ids = [c["id"] for c in newest.message.get("tool_calls") or []]
        for r in self.group(newest)[1:]:
            ids.remove(r.message["tool_call_id"])
        return ids

    # ------------------------------------------------------------------ the prompt
    def compose(self, start: int) -> list[Record]:
        anchor = self.anchor()
        window = [r for r in self.records[start:] if r.shown is not None and not r.head]
        partial = window[0].user if window and window[0].user != window[0].seq else 0
        turn_users = {r.user for r in self.records if r.pinned and not r.head}
        apart = []
        for r in self.records[:start]:
            if r.shown is None or r.head:
                continue
            stays = r.pinned or (r.seq in turn_users and r.role == "user")
            if r.user == 0 and anchor is not None and r.role != "system":
                stays = False
            if stays or r is anchor or r.seq == partial:
                apart.append(r)
        return [r for r in self.records if r.head] + apart + window

    def tokens(self, start: int) -> int:
        return 3 + sum(cost(r.shown, self.scale) for r in self.compose(start))

    def _pinned(self, r: Record) -> bool:
        return r.pinned or (r.role == "user" and any(p.pinned and not p.head and p.user == r.seq for p in self.records))

    def _over(self, start: int, mark: int) -> bool:
        records = [r for r in self.compose(start) if not r.head]
        messages = sum(not self._pinned(r) for r in records)
        window = [r for r in self.records[start:] if r.shown is not None and not r.head]
        turns = {r.user for r in window if r.user} | ({self.anchor().seq} if self.anchor() else set())
        # a turn of the window whose user message stands apart counts; so does the anchor's
        return (
            self.tokens(start) > mark
            or (self.max_messages is not None and messages > self.max_messages)
            or (self.max_turns is not None and len(turns) > self.max_turns)
        )

    def _low(self) -> int:
        taken = 3 + sum(cost(r.shown, self.scale) for r in self.compose(self.start) if r.head or self._pinned(r))
        room = max(0, self.budget - taken)
        return self.budget - min(self.overlap, room // 2)

    # ------------------------------------------------------------------ eviction
    def settle(self) -> None:
        if self._over(self.start, self.budget):
            low = self._low()
            anchor, newest = self.anchor(), self.newest()
            turn = self.records.index(anchor) if anchor and self.records.index(anchor) >= self.start else self.start
            at = self.start
            while at < turn and self._over(at, low):
                rest = self.records[at + 1 : turn]
                if not self._over(at, self.budget) and not any(r.shown and r.role == "user" for r in rest):
                    break  # the turn before the newest goes only when it must
                at += 1
                while at < turn and not (self.records[at].shown is not None and self.records[at].role == "user"):
                    at += 1
            done = at < turn or not self._over(at, self.budget)
            last = self.records.index(newest) if newest else len(self.records)
            while not done and at < last and self._over(at, low):
                at += 1
                while at < last and (self.records[at].shown is None or self.records[at].joins):
                    at += 1
            self.start = at
        window = self.records[self.start :]
        if self.records and window:
            self.starts[self.records[-1].seq] = window[0].seq

    def refill(self) -> None:
        low = self._low()
        while (back := self._step_back()) is not None and not self._over(back, low):
            self.start = back
        self.settle()

    def _step_back(self) -> int | None:
        window = [r for r in self.records[self.start :] if r.shown is not None]
        inside = window[0].user if window and window[0].role != "user" else None
        for at in range(self.start - 1, -1, -1):
            r = self.records[at]
            if r.head or (r.user == 0 and self.anchor() is not None):
                return None
            if r.shown is None:
                continue
            if r.role == "user" or (not r.joins and r.user == inside):
                return at
        return None

    # ------------------------------------------------------------------ the calls
    def add(self, message: Message, pinned: bool = False) -> int:
        r = Record(self.next_seq, message)
        self.next_seq += 1
        waiting = self.waiting()
        first_user = message["role"] == "user" and self.anchor() is None
        if message["role"] == "tool":
            if message["tool_call_id"] in waiting:
                r.joins = True
            else:
                r.shown = None
        elif waiting:
            self._retire()
        anchor = self.anchor()
        r.user = r.seq if message["role"] == "user" else anchor.seq if anchor else 0
        if message["role"] == "system" and all(o.head for o in self.records):
            r.head = r.pinned = True
        if pinned and r.shown is not None:
            r.pinned = True
        self.records.append(r)
        if r.head:
            self.start = len(self.records)
            self.starts[r.seq] = 0
            return r.seq
        if r.joins:
            group = self.group(self.newest())
            if any(g.pinned for g in group):
                for g in group:
                    g.pinned = True
        if first_user:
            self.start = len(self.records) - 1
        self.settle()
        return r.seq

    def _retire(self) -> None:
        newest = self.newest()
        newest.retired = True
        answered = [g.message["tool_call_id"] for g in self.group(newest)[1:]]
        calls = []
        for call in newest.message["tool_calls"]:
            if call["id"] in answered:
                answered.remove(call["id"])
                calls.append(call)
        rest = {k: v for k, v in newest.message.items() if k != "tool_calls"}
        newest.shown = {**rest, "tool_calls": calls} if calls else rest if rest.get("content") else None

    def rewind(self, after: int) -> None:
        self.records = [r for r in self.records if r.seq <= after]
        # A call that was given up and now stands at the end again is open again.
        last = next((r for r in reversed(self.records) if not r.head and (r.shown is not None or r.retired)), None)
        if last is not None and last.retired:
            last.shown = last.message
        self.start = len([r for r in self.records if r.head])
        if last is not None:
            seq = self.starts[self.records[-1].seq]
            self.start = max(self.start, next(i for i, r in enumerate(self.records) if r.seq >= seq))
        if self.waiting():
            self.newest().shown = self.newest().message
        self.settle()

    def unpin(self, seq: int) -> None:
        r = next(r for r in self.records if r.seq == seq)
        first = r
        if r.joins:
            first = next(f for f in self.records if not f.joins and r in self.group(f))
        for g in self.group(first):
            g.pinned = False
        self.settle()

    def messages(self) -> list[Message]:
        return [r.shown for r in self.compose(self.start)]
