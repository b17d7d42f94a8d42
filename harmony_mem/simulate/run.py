"""Replays a conversation against a memory and measures what the model would have been given.

A model call happens before each assistant message: the prompt is asked for, then the conversation's own answer is
added. A conversation without any assistant message is asked after each user message instead. Nothing here knows which
memory it is: a memory of this process has prompt(), a session of the sidecar has messages(), and both tell the messages
and their token count in one call.
"""

from __future__ import annotations

from statistics import fmean, median
from time import perf_counter_ns

from harmony_mem.errors import HarmonyMemError

from .conversation import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Protocol, TypeAlias

    from .conversation import Conversation, Message

    Asked: TypeAlias = tuple[list[Message], int]

    class Replayable(Protocol):
        """Also asked for, where it has them: prompt() or messages(), and stats()."""

        def add(self, message: Message, *, time: int | None = None) -> Any: ...


__all__ = ["Call", "Report", "Run", "SimulationError", "common_prefix", "replay", "torn", "weight"]

# The last turns over which "early facts, on average" is taken: long after they were said, and more than one sample.
LATE_TURNS = 30


class SimulationError(HarmonyMemError, RuntimeError):
    """The simulation saw something that must never happen, such as a prompt over its budget."""


class Call:
    """What was measured at one model call."""

    __slots__ = ("facts", "first", "shared", "tokens", "turn", "whole")

    def __init__(
        self, turn: int, first: bool, tokens: int, facts: float | None, whole: bool | None, shared: float | None
    ) -> None:
        self.turn = turn
        self.first = first  # the first call of its turn
        self.tokens = tokens
        self.facts = facts  # share of the facts said so far that the prompt holds; None before the first
        self.whole = whole  # does it start with the whole previous prompt, recalled text apart? None for the first call
        self.shared = shared  # share of the prompt's tokens in the start that it has in common with the previous one


class Run:
    """One conversation replayed: every call, the time of every turn, and the last prompt."""

    __slots__ = ("calls", "conversation", "extra_model_calls", "final", "turn_us")

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.calls: list[Call] = []
        self.turn_us: list[float] = []
        self.final: list[Message] = []
        self.extra_model_calls = 0


class Report:
    """The measures over one run or several (a file with many conversations). None: there was nothing to measure."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self.runs = list(runs)

    @property
    def calls(self) -> int:
        return sum(len(run.calls) for run in self.runs)

    def tokens_at(self, turn: int) -> float | None:
        """Tokens of the first request of this turn; the mean of the conversations that get so far."""
        return _mean(call.tokens for run in self.runs for call in run.calls if call.turn == turn and call.first)

    @property
    def mean_tokens(self) -> float | None:
        return _mean(call.tokens for run in self.runs for call in run.calls)

    @property
    def last_tokens(self) -> float | None:
        return _mean(run.calls[-1].tokens for run in self.runs if run.calls)

    @property
    def largest(self) -> int | None:
        return max((call.tokens for run in self.runs for call in run.calls), default=None)

    @property
    def facts_final(self) -> float | None:
        """Share of the marked facts that the last prompt holds word for word; every conversation weighs the same."""
        return _mean(run.calls[-1].facts for run in self.runs if run.calls)

    @property
    def facts_late(self) -> float | None:
        """The same, averaged over the calls of the last 30 turns."""
        return _mean(
            call.facts for run in self.runs for call in run.calls if call.turn > run.conversation.turns - LATE_TURNS
        )

    @property
    def whole_prefix(self) -> float | None:
        """Share of calls, the first excepted, whose prompt starts with the whole previous prompt, recalled text
        apart."""
        return _mean(call.whole for run in self.runs for call in run.calls)

    @property
    def shared_tokens(self) -> float | None:
        """Mean share of a prompt's tokens that lie in its common start with the previous prompt."""
        return _mean(call.shared for run in self.runs for call in run.calls)

    @property
    def turn_us(self) -> float | None:
        """Microseconds per turn, median: its adds and its prompts, not what the simulation does between them."""
        times = [us for run in self.runs for us in run.turn_us]
        return median(times) if times else None

    @property
    def extra_model_calls(self) -> int:
        return sum(run.extra_model_calls for run in self.runs)

    def as_dict(self, turns: Iterable[int] = (15, 60, 120)) -> dict[str, Any]:
        return {
            "conversations": len(self.runs),
            "calls": self.calls,
            "tokens_at": {str(turn): self.tokens_at(turn) for turn in turns},
            "mean_tokens": self.mean_tokens,
            "last_tokens": self.last_tokens,
            "largest": self.largest,
            "facts_final": self.facts_final,
            "facts_late": self.facts_late,
            "whole_prefix": self.whole_prefix,
            "shared_tokens": self.shared_tokens,
            "turn_us": self.turn_us,
            "extra_model_calls": self.extra_model_calls,
        }


def replay(
    conversation: Conversation,
    session: Replayable,
    *,
    budget: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Run:
    """Replays one conversation. `progress` is told each turn when it is done.

    Raises SimulationError when a prompt counts more tokens than `budget` or tears a call from its results; what the
    session raises passes through.
    """
    run = Run(conversation)
    turns = conversation.turn_numbers()
    ask = _asker(session)
    with_answers = any(message["role"] == "assistant" for message in conversation.messages)
    previous: list[Message] | None = None
    asked_turn = spent = 0
    for index, message in enumerate(conversation.messages):
        turn, role = turns[index], message["role"]
        if role == "assistant" and with_answers:
            start = perf_counter_ns()
            prompt = ask()
            spent += perf_counter_ns() - start
            _record(run, turn, turn != asked_turn, prompt, previous, budget)
            previous, asked_turn = prompt[0], turn
        start = perf_counter_ns()
        session.add(message, time=conversation.times[index])
        spent += perf_counter_ns() - start
        if role == "user" and not with_answers:
            start = perf_counter_ns()
            prompt = ask()
            spent += perf_counter_ns() - start
            _record(run, turn, True, prompt, previous, budget)
            previous = prompt[0]
        if index + 1 == len(turns) or turns[index + 1] != turn:
            if turn:
                run.turn_us.append(spent / 1000)
                if progress:
                    progress(turn)
            spent = 0
    run.final = previous or []
    if hasattr(session, "stats"):
        run.extra_model_calls = session.stats().get("model_calls", 0)
    return run


def _asker(session: Any) -> Callable[[], Asked]:
    """How to ask this session for the next prompt's messages and their token count."""
    if hasattr(session, "prompt"):

        def ask() -> Asked:
            prompt = session.prompt()
            return prompt.messages, prompt.token_count

        return ask

    def ask_sidecar() -> Asked:
        answer = session.messages()
        return answer["messages"], answer["token_count"]

    return ask_sidecar


def _record(
    run: Run,
    turn: int,
    first: bool,
    prompt: Asked,
    previous: list[Message] | None,
    budget: int | None,
) -> None:
    messages, tokens = prompt
    if budget is not None and tokens > budget:
        raise SimulationError(
            f"conversation {run.conversation.id!r}, turn {turn}: the prompt has {tokens} tokens, its budget is {budget}"
        )
    if wrong := torn(messages):
        raise SimulationError(f"conversation {run.conversation.id!r}, turn {turn}: {wrong}")
    said = [fact for fact in run.conversation.facts if fact.turn <= turn]
    facts = None
    if said:
        text = "\n".join(text_of(message) for message in messages)
        facts = sum(fact.value in text for fact in said) / len(said)
    whole = shared = None
    if previous is not None:
        length = common_prefix(previous, messages)
        whole = common_prefix(unrecalled(previous), unrecalled(messages)) == len(previous)
        weights = [weight(message) for message in messages]
        shared = sum(weights[:length]) / sum(weights) if weights else 0.0
    run.calls.append(Call(turn, first, tokens, facts, whole, shared))


def torn(messages: list[Message]) -> str | None:
    """What no model endpoint would take: a result away from its call, or a call without its results. None: all fine.

    Calls at the very end may wait for their results.
    """
    missing: set[str] = set()
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in missing:
                return f"message {index} of the prompt is a result whose call is not just before it"
            missing.discard(message["tool_call_id"])
            continue
        if missing:
            return f"a call before message {index} of the prompt has no result"
        missing = {call["id"] for call in message.get("tool_calls") or ()}
    return None


def common_prefix(before: list[Message], after: list[Message]) -> int:
    """How many messages at the start of both lists are equal, as wholes."""
    length = 0
    for old, new in zip(before, after, strict=False):
        if old != new:
            break
        length += 1
    return length


def unrecalled(messages: list[Message]) -> list[Message]:
    """The messages without the block of recalled text that a layered memory puts before the last user message's own: it
    is new with each user message by design, and stands at the end, where a prefix cache loses little by it."""
    out = []
    for message in messages:
        content = message.get("content")
        if message["role"] == "user" and isinstance(content, str) and content.startswith("<recalled>\n"):
            message = {**message, "content": content.partition("\n</recalled>\n\n")[2]}
        out.append(message)
    return out


def weight(message: Message) -> float:
    """About the tokens of a message, for shares only: 0.65 per CJK character, 0.3 per other one, 5 around them."""
    text = text_of(message)
    wide = sum(char >= "\u2e80" for char in text)
    return 5 + 0.65 * wide + 0.3 * (len(text) - wide)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
