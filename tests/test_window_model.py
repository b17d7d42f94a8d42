"""The two windows against the model in model.py, driven by a hypothesis state machine."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import harmony_mem as hm

from .model import Model, cost

TEXT = st.integers(0, 60).map(lambda n: ("文a" * 31)[:n])
IDS = st.sampled_from(["c1", "c2", "c3"])


def twice(text: str) -> int:
    return 2 * len(text)


def call(id: str, size: int) -> dict:
    return {"id": id, "type": "function", "function": {"name": "f", "arguments": "x" * size}}


class WindowMachine(RuleBasedStateMachine):
    @initialize(
        architecture=st.sampled_from(["fixed", "sliding"]),
        budget=st.integers(60, 400),
        share=st.integers(0, 80),
        max_messages=st.none() | st.integers(1, 12),
        max_turns=st.none() | st.integers(1, 5),
        packed=st.booleans(),
    )
    def open(self, architecture, budget, share, max_messages, max_turns, packed) -> None:
        import msgpack

        overlap = budget * share // 100
        options: dict = {"max_tokens": budget, "reserve_tokens": 0, "counter": len, "history_bytes": 1 << 30}
        if packed:
            options["codec"] = (msgpack.packb, msgpack.unpackb)
        if architecture == "fixed":
            options |= {"max_messages": max_messages, "max_turns": max_turns}
            self.model = Model(budget, 0, max_messages, max_turns)
        else:
            options |= {"overlap_tokens": overlap}
            self.model = Model(budget, overlap)
        self.memory = hm.create_memory(architecture, **options)

    def _add(self, message: dict, pinned: bool = False) -> None:
        assert self.memory.add(message, pinned=pinned) == self.model.add(message, pinned)

    @rule(text=TEXT, pinned=st.integers(0, 9))
    def user(self, text, pinned) -> None:
        self._add({"role": "user", "content": text}, pinned == 0)

    @rule(text=TEXT, pinned=st.integers(0, 9))
    def assistant(self, text, pinned) -> None:
        self._add({"role": "assistant", "content": text}, pinned == 0)

    @rule(text=TEXT, pinned=st.integers(0, 9))
    def system(self, text, pinned) -> None:
        self._add({"role": "system", "content": text}, pinned == 0)

    @rule(
        text=st.none() | TEXT,
        ids=st.lists(IDS, min_size=1, max_size=3),
        size=st.integers(0, 30),
        pinned=st.integers(0, 9),
    )
    def calls(self, text, ids, size, pinned) -> None:
        message = {"role": "assistant", "content": text, "tool_calls": [call(i, size) for i in ids]}
        self._add(message, pinned == 0)

    @rule(id=IDS, text=TEXT, pinned=st.integers(0, 9))
    def result(self, id, text, pinned) -> None:
        self._add({"role": "tool", "tool_call_id": id, "content": text}, pinned == 0)

    @precondition(lambda self: self.model.waiting())
    @rule(text=TEXT)
    def right_result(self, text) -> None:
        self._add({"role": "tool", "tool_call_id": self.model.waiting()[0], "content": text})

    @rule(back=st.integers(0, 12))
    def rewind(self, back) -> None:
        after = max(0, self.model.next_seq - 1 - back)
        self.memory.rewind(after)
        self.model.rewind(after)

    @precondition(lambda self: any(r.pinned and not r.head for r in self.model.records))
    @rule(which=st.integers(0, 100))
    def unpin(self, which) -> None:
        pinned = [r for r in self.model.records if r.pinned and not r.head and r.shown is not None]
        if pinned:
            seq = pinned[which % len(pinned)].seq
            self.memory.unpin(seq)
            self.model.unpin(seq)

    @rule(budget=st.integers(60, 500), share=st.integers(0, 80))
    def configure(self, budget, share) -> None:
        overlap = budget * share // 100
        if self.memory.architecture == "sliding":
            self.memory.configure(max_tokens=budget, overlap_tokens=overlap)
            self.model.limits(budget, overlap, None, None)
        else:
            self.memory.configure(max_tokens=budget)
            self.model.limits(budget, 0, self.model.max_messages, self.model.max_turns)
        self.model.refill()

    @rule()
    def recount(self) -> None:
        self.model.scale = 3 - self.model.scale
        self.memory.configure(counter=len if self.model.scale == 1 else twice)
        self.model.refill()

    @rule()
    def clear(self) -> None:
        self.memory.clear()
        self.model.records.clear()
        self.model.start = 0

    @invariant()
    def same(self) -> None:
        if not hasattr(self, "model"):
            return
        tokens = self.model.tokens(self.model.start)
        assert self.memory.stored_tokens == tokens
        assert bool(self.memory.open_calls) == bool(self.model.waiting())
        shown, every = self.model.compose(self.model.start), [r for r in self.model.records if r.shown is not None]
        left = [p for p in self.memory.prompt().parts if p.kind == "evicted"] if tokens <= self.model.budget else []
        if tokens <= self.model.budget:
            assert sum(p.messages for p in left) == len(every) - len(shown)
            assert sum(p.tokens for p in left) == sum(cost(r.shown, self.model.scale) for r in every) - sum(
                cost(r.shown, self.model.scale) for r in shown
            )
            assert self.memory.messages() == self.model.messages()
            assert self.memory.token_count == tokens
            prompt = self.memory.prompt()
            assert prompt.messages == self.model.messages()
            assert sum(p.tokens for p in prompt.parts if p.included) == tokens
            return
        try:
            prompt = self.memory.prompt()
        except hm.BudgetError as caught:
            error = caught
        else:
            error = None
        if error is not None:
            assert error.needed > error.budget == self.model.budget
            assert error.needed == sum(error.parts.values())
            return
        # Texts were cut: within the budget, and the same messages otherwise.
        assert prompt.token_count == 3 + sum(cost(m, self.model.scale) for m in prompt.messages) <= self.model.budget
        assert [m["role"] for m in prompt.messages] == [m["role"] for m in self.model.messages()]
        assert sum(p.tokens for p in prompt.parts if p.included) == prompt.token_count


WindowMachine.TestCase.settings = settings(
    max_examples=250, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck)
)
test_window_model = pytest.mark.filterwarnings("ignore")(WindowMachine.TestCase)
