"""The scheduler under arbitrary arrivals, cancels, interrupts and shortage, against a cache that only lists its tokens."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from dragoman.scheduler.scheduler import SchedulerOptions
from support.scheduling import Loop

LONGEST_PROMPT, LONGEST_ANSWER = 12, 8
# Lengths are drawn first, since lists left to themselves stay too short to fill a cache.
prompts = st.integers(1, LONGEST_PROMPT).flatmap(lambda size: st.lists(st.integers(0, 2), min_size=size, max_size=size))
limits = st.integers(0, LONGEST_ANSWER)
# Every sequence fits into the cells when it is alone, as the engine's clamp to the context ensures.
cells = st.none() | st.integers(LONGEST_PROMPT + LONGEST_ANSWER, 2 * LONGEST_PROMPT + LONGEST_ANSWER)


class SchedulerMachine(RuleBasedStateMachine):
    """``Loop`` checks its laws after every step; these rules bring it into every state."""

    @initialize(
        sequences=st.integers(1, 4),
        chunk=st.integers(1, 8),
        cells=cells,
        copy_cost=st.integers(0, 5),
        cuttable=st.booleans(),
    )
    def start(self, sequences, chunk, cells, copy_cost, cuttable) -> None:
        self.loop = Loop(
            SchedulerOptions(
                sequences=sequences,
                prefill_chunk=chunk,
                cells=cells,
                copy_cost=copy_cost,
                cuttable=cuttable,
            )
        )
        self.cancelled = []
        self.all = []

    @rule(
        prompt=prompts,
        limit=limits,
        namespace=st.sampled_from(["", "", "other"]),
        echo=st.sampled_from([False, False, False, True]),
        bounded=st.booleans(),
    )
    def arrive(self, prompt, limit, namespace, echo, bounded) -> None:
        self.all.append(self.loop.add(prompt, limit, namespace=namespace, echo=echo, bounded=bounded))

    @precondition(lambda self: self.all)
    @rule(data=st.data(), more=prompts, limit=limits, bounded=st.booleans())
    def follow_up(self, data, more, limit, bounded) -> None:
        """A prompt that starts with a part of an earlier sequence's text."""
        earlier = data.draw(st.sampled_from(self.all))
        kept = data.draw(st.integers(0, earlier.length))
        prompt = (earlier.tokens(0, kept) + tuple(more))[:LONGEST_PROMPT]
        self.all.append(self.loop.add(prompt, limit, namespace=earlier.namespace, bounded=bounded))

    @rule(batch=st.lists(prompts, min_size=2, max_size=5), limit=limits, bounded=st.booleans())
    def rush(self, batch, limit, bounded) -> None:
        self.all.extend(self.loop.add(prompt, limit, bounded=bounded) for prompt in batch)

    @rule(times=st.integers(1, 6))
    def step(self, times) -> None:
        for _ in range(times):
            self.loop.step()

    @precondition(lambda self: any(_may_get_more(sequence) for sequence in self.loop.live))
    @rule(data=st.data(), count=st.integers(1, 6))
    def append_at_once(self, data, count) -> None:
        sequence = data.draw(st.sampled_from([sequence for sequence in self.loop.live if _may_get_more(sequence)]))
        room = sequence.limit - 1 - len(sequence.generated)
        sequence.generated += range(min(count, room))
        sequence.read = sequence.length

    @rule(rows=st.integers(0, 6))
    def interrupted_step(self, rows) -> None:
        self.loop.step(interrupt_after=rows)

    @precondition(lambda self: self.loop.live)
    @rule(data=st.data(), keep=st.booleans())
    def cancel(self, data, keep) -> None:
        sequence = data.draw(st.sampled_from(self.loop.live))
        self.loop.end(sequence, keep=keep)
        self.cancelled.append(sequence)

    def teardown(self) -> None:
        if not hasattr(self, "loop"):
            return
        loop = self.loop
        work = sum(len(sequence.prompt) + sequence.limit for sequence in loop.live)
        # Without shortage every step computes a token of the oldest prompt or of somebody's answer. With shortage, sequences
        # may have to start again each time that one of them ends.
        bound = work if loop.options.cells is None else (work + 2 * loop.options.sequences) * (1 + len(loop.live))
        loop.run(steps=bound)
        assert not loop.scheduler.busy
        for sequence in self.all:
            if sequence not in self.cancelled:
                assert sequence in loop.done
                assert len(sequence.generated) == sequence.limit
                if sequence not in loop.preempted | loop.restarted:
                    assert (
                        self.loop.fed(sequence) == len(sequence.prompt) + max(0, sequence.limit - 1) - sequence.cached
                    )


def _may_get_more(sequence) -> bool:
    """As when it has just drawn, and something must follow that."""
    return sequence.seq_id is not None and 0 < len(sequence.generated) < sequence.limit and not sequence.prefilling


TestScheduler = SchedulerMachine.TestCase
TestScheduler.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
