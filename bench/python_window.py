"""The baseline: a sliding window in plain Python that keeps the same rules as harmony_mem's, written to be fast.

It answers what the same code in C is worth, so it is as good as Python allows: costs are counted once and summed; the
messages of the window lie in one deque and what is known of them in another, so that a prompt is one unpacking; every
turn has a mark with the running total before it, so that an eviction looks at turns and not at messages; whatever is
not a plain message goes another way.

Rules kept: what a message must look like, with an error that says what is wrong; the dict copied at `add`; seq and
time; the counter's result checked; leading system messages as the head; calls and their results as one group; results
that no call waits for are never shown; a call that stays without results is shown without it; turns evicted whole,
oldest first, down to the low water mark; then groups of the newest turn, the last user message and the newest group
staying.

Left out, which is to the baseline's advantage: threads, pins, ids, rewind, history, the byte limit, parts, lone
surrogates, counts of turns and messages, shortened texts, reuse statistics, other budgets, any other architecture.
`check_window.py` compares it with harmony_mem message by message.
"""

from __future__ import annotations

from collections import deque
from time import time_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Message = dict[str, Any]

PER_MESSAGE, PER_CALL, PER_PROMPT = 5, 5, 3
ROLES = ("system", "user", "assistant", "tool")


class PythonWindow:
    """`add` a message, get `messages`. See the module."""

    __slots__ = (
        "_anchor",
        "_anchor_apart",
        "_apart",
        "_apart_cost",
        "_base",
        "_counter",
        "_facts",
        "_gone",
        "_head",
        "_high",
        "_low",
        "_marks",
        "_messages",
        "_newest_size",
        "_open",
        "_overlap",
        "_plain",
        "_seq",
        "_start",
        "tokens",
    )

    def __init__(self, max_tokens: int, overlap_tokens: int, counter: Callable[[str], int]) -> None:
        self._high = max_tokens
        self._overlap = overlap_tokens
        self._counter = counter
        self._head: list[Message] = []
        self._messages: deque[Message] = deque()
        self._facts: deque[tuple[int, int]] = deque()  # cost and time of each message of the window
        # For each user message of the window: how many messages came before it, and the running total then.
        self._marks: deque[tuple[int, int]] = deque()
        self._start = 0  # messages that left the window
        self._gone = 0  # what they cost; tokens + gone is the running total
        self._anchor: Message | None = None  # the newest user message
        # The user message of the window's first turn, when the window starts behind it.
        self._apart: Message | None = None
        self._apart_cost = 0
        self._anchor_apart = False  # is that one the anchor?
        self._newest_size = 0  # messages of the newest group
        self._open: list[str] | None = None  # ids of calls that wait for a result
        self._plain = False  # a user message came and no call is open
        self._seq = 0
        self.tokens = self._base = PER_PROMPT  # the prompt's cost; without the window
        self._low = self._high - min(overlap_tokens, max(0, max_tokens - PER_PROMPT) // 2)

    # ------------------------------------------------------------------ the hot paths
    def add(self, message: Message, *, time: int | None = None) -> int:
        """Adds one message and returns its seq."""
        if self._plain and type(message) is dict and len(message) == 2:
            try:
                role = message["role"]
                content = message["content"]
            except KeyError:
                return self._add_other(message, time)
            if type(content) is str and (role == "user" or role == "assistant"):
                cost = self._counter(content)
                if type(cost) is not int or cost < 0:
                    raise TypeError(f"the counter returned {cost!r}; a non-negative int is expected")
                if time is None:
                    time = time_ns() // 1_000_000
                elif type(time) is not int or time < 0:
                    raise ValueError(f"time is {time!r}; allowed: ms since epoch as an int, 0 or more")
                message = message.copy()
                tokens = self.tokens
                if role == "user":
                    if self._anchor_apart:
                        tokens = self._demote()
                    self._anchor = message
                    self._marks.append((self._start + len(self._messages), tokens + self._gone))
                cost += PER_MESSAGE
                self._messages.append(message)
                self._facts.append((cost, time))
                self._newest_size = 1
                self.tokens = tokens = tokens + cost
                if tokens > self._high:
                    self._evict(tokens)
                self._seq = seq = self._seq + 1
                return seq
        return self._add_other(message, time)

    def messages(self) -> list[Message]:
        """The prompt's messages: the window's own dicts, to be read only."""
        if self._apart is None:
            return [*self._head, *self._messages]
        return [*self._head, self._apart, *self._messages]

    def copied_messages(self) -> list[Message]:
        """The prompt's messages, each copied."""
        return list(map(dict.copy, self.messages()))

    # ------------------------------------------------------------------ turns and eviction
    def _demote(self) -> int:
        """Another user message comes: the anchor that stands apart stays for the rest of its turn, if there is one."""
        self._anchor_apart = False
        if not self._messages:
            self._apart = None
            self._gone += self._apart_cost
            self.tokens -= self._apart_cost
        return self.tokens

    def _evict(self, tokens: int) -> None:
        """Whole turns down to the low mark, oldest first; then, above the budget only, groups of the newest turn."""
        marks, total = self._marks, tokens + self._gone
        if marks and not self._anchor_apart:
            low, start = self._low, self._start
            count = start
            high = self._high
            while tokens > low:
                whole = marks[0][0] == count
                if tokens <= high and len(marks) == 1 + whole:
                    break  # the turn before the newest goes only when it must
                if whole:
                    if len(marks) == 1:
                        break  # the newest turn
                    marks.popleft()
                count, before = marks[0]
                tokens = self._base + total - before
            if count != start:
                take, take_fact = self._messages.popleft, self._facts.popleft
                for _ in range(count - start):
                    take()
                    take_fact()
                self._start = count
                self._apart = None
        if tokens > self._high:
            tokens = self._evict_groups(tokens)
        self._gone = total - tokens
        self.tokens = tokens

    def _evict_groups(self, tokens: int) -> int:
        messages, facts, low = self._messages, self._facts, self._low
        while tokens > low and len(messages) > self._newest_size:
            first = messages.popleft()
            cost = facts.popleft()[0]
            self._start += 1
            if first is self._anchor:
                self._apart, self._apart_cost, self._anchor_apart = first, cost, True
                self._marks.popleft()
            else:
                tokens -= cost
            while messages[0]["role"] == "tool":
                messages.popleft()
                tokens -= facts.popleft()[0]
                self._start += 1
        return tokens

    # ------------------------------------------------------------------ everything that is not plain
    def _add_other(self, message: Message, time: int | None) -> int:
        role = _check(message)
        if time is None:
            time = time_ns() // 1_000_000
        elif type(time) is not int or time < 0:
            raise ValueError(f"time is {time!r}; allowed: ms since epoch as an int, 0 or more")
        tokens = self._cost(message)
        message = message.copy()
        self._seq += 1
        if role == "tool":
            answers = message["tool_call_id"]
            if self._open is None or answers not in self._open:
                return self._seq
            self._open.remove(answers)
            self._messages.append(message)
            self._facts.append((tokens, time))
            self._newest_size += 1
            self._open = self._open or None
        else:
            if self._open is not None:
                self._retire()
            if role == "system" and self._seq == len(self._head) + 1:
                self._head.append(message)
                self.tokens = self._base = self.tokens + tokens
                self._low = self._high - min(self._overlap, max(0, self._high - self._base) // 2)
                return self._seq
            if role == "user":
                if self._anchor is None:  # a prompt starts with a user message: what came before it is shown no more
                    self._start += len(self._messages)
                    self._gone += self.tokens - self._base
                    self.tokens = self._base
                    self._messages.clear()
                    self._facts.clear()
                if self._anchor_apart:
                    self._demote()
                self._anchor = message
                self._marks.append((self._start + len(self._messages), self.tokens + self._gone))
            self._messages.append(message)
            self._facts.append((tokens, time))
            self._newest_size = 1
            self._open = [call["id"] for call in message.get("tool_calls") or ()] or None
        self.tokens += tokens
        self._plain = self._open is None and self._anchor is not None
        if self.tokens > self._high:
            self._evict(self.tokens)
        return self._seq

    def _retire(self) -> None:
        """Another message comes while calls are open: they are shown no more."""
        size = self._newest_size
        call = self._messages[-size]
        answered = [self._messages[-i]["tool_call_id"] for i in range(size - 1, 0, -1)]
        calls = []
        for one in call["tool_calls"]:
            if one["id"] in answered:
                answered.remove(one["id"])
                calls.append(one)
        cost, time = self._facts[-size]
        self.tokens -= cost
        self._open = None
        if calls:
            shown = {**call, "tool_calls": calls}
        else:
            shown = {key: value for key, value in call.items() if key != "tool_calls"}
            if not shown.get("content"):
                self._messages.pop()
                self._facts.pop()
                return
        cost = self._cost(shown)
        self._messages[-size] = shown
        self._facts[-size] = (cost, time)
        self.tokens += cost

    def _cost(self, message: Message) -> int:
        count = self._counter
        total = PER_MESSAGE
        for text in (message.get("content"), message.get("name")):
            if text is not None:
                total += count(text)
        for call in message.get("tool_calls") or ():
            total += PER_CALL + count(call["function"]["name"]) + count(call["function"].get("arguments") or "")
        return total


def _check(message: Message) -> str:
    """The role of a valid message. Raises TypeError or ValueError that says what is wrong."""
    if not isinstance(message, dict):
        raise TypeError(f"a message is a dict with role and content, not {type(message).__name__}")
    role, content = message.get("role"), message.get("content")
    if role not in ROLES:
        raise ValueError(f"role is {role!r}; allowed: {', '.join(ROLES)}")
    if not isinstance(content, str) and (content is not None or role != "assistant"):
        raise TypeError(f"content of a {role} message is {type(content).__name__}; allowed: a str")
    if role == "tool" and not isinstance(message.get("tool_call_id"), str):
        raise TypeError("tool_call_id of a tool message is missing; allowed: the id of the call it answers, a str")
    if message.get("tool_calls") and role != "assistant":
        raise ValueError(f"tool_calls stands in a {role} message; only an assistant message makes calls")
    for i, call in enumerate(message.get("tool_calls") or ()):
        if not isinstance(call, dict) or not isinstance(call.get("id"), str):
            raise TypeError(f"tool_calls[{i}] has no id; allowed: a str, by which its result finds it")
        if not isinstance(call.get("function"), dict) or not isinstance(call["function"].get("name"), str):
            raise TypeError(f"tool_calls[{i}].function has no name; allowed: a dict with name and arguments")
    if not isinstance(message.get("name", ""), str):
        raise TypeError(f"name is {type(message['name']).__name__}; allowed: a str")
    return str(role)
