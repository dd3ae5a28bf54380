"""What a sequence derives from its tokens."""

from __future__ import annotations

import pytest

from dragoman.scheduler.plan import PlanDraft, Run, StepPlan
from dragoman.scheduler.sequence import Sequence


def sequence(**fields) -> Sequence:
    return Sequence(**({"id": 1, "prompt": (10, 11, 12), "limit": 4} | fields))


def test_tokens_are_the_prompt_and_then_what_was_generated() -> None:
    whole, text = sequence(generated=[20, 21]), (10, 11, 12, 20, 21)
    assert whole.length == 5
    for start in range(6):
        for end in range(start, 6):
            assert whole.tokens(start, end) == text[start:end]


@pytest.mark.parametrize(
    ("generated", "computed", "pending", "prefilling"),
    [
        ([], 0, 3, True),
        ([], 2, 1, True),  # the last token of a prompt, not a step of an answer
        ([20], 3, 1, False),
        ([20, 21], 4, 1, False),
        ([20, 21], 0, 5, True),  # preempted: its answer is read again like a prompt
        ([20, 21], 3, 2, True),
    ],
)
def test_a_sequence_prefills_until_only_its_newest_token_is_left(generated, computed, pending, prefilling) -> None:
    state = sequence(generated=generated, computed=computed)
    assert (state.pending, state.prefilling) == (pending, prefilling)


@pytest.mark.parametrize(("limit", "generated", "exhausted"), [(0, [], True), (1, [], False), (1, [20], True)])
def test_a_budget_is_used_up_by_generated_tokens_alone(limit, generated, exhausted) -> None:
    assert sequence(limit=limit, generated=generated).exhausted is exhausted


def test_two_sequences_of_the_same_tokens_are_not_the_same() -> None:
    assert sequence() != sequence()


@pytest.mark.parametrize(
    ("last", "every", "outputs"), [(False, False, 0), (True, False, 1), (False, True, 2), (True, True, 2)]
)
def test_a_run_asks_for_logits_after_every_token_or_the_last_or_none(last, every, outputs) -> None:
    run = Run(sequence(), 0, 5, (1, 2), last=last, every=every)
    assert (run.outputs, run.end) == (outputs, 7)


@pytest.mark.parametrize(
    ("read", "start", "decodes"),
    [(0, 2, False), (0, 3, True), (6, 3, False), (6, 5, False), (6, 6, True)],
)
def test_a_run_decodes_where_neither_the_prompt_nor_what_was_appended_at_once_is_left(read, start, decodes) -> None:
    state = sequence(generated=[20, 21, 22, 23], read=read)
    assert Run(state, 0, start, (0,), last=True).decodes is decodes


def test_runs_of_a_plan_are_in_cache_order() -> None:
    draft = PlanDraft()
    draft.runs += [Run(sequence(), seq_id, 0, (1,) * (seq_id + 1), last=True) for seq_id in (4, 0, 2)]
    plan = draft.finish()
    assert [run.seq_id for run in plan.runs] == [0, 2, 4]
    assert (plan.rows, plan.idle) == (5 + 1 + 3, False)
    assert StepPlan().idle
