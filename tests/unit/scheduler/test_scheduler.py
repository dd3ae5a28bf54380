"""Scenarios that the four rules of the scheduler promise, counted in tokens that a cache was given to compute."""

from __future__ import annotations

import pytest

from dragoman.scheduler.plan import Copy, Cut
from dragoman.scheduler.prefix_cache import NoReuse
from dragoman.scheduler.scheduler import SchedulerOptions
from support.scheduling import Loop

SYSTEM = tuple(range(100, 1100))
"""A prompt of 1,000 tokens that everybody shares."""


def loop(cache=None, **options) -> Loop:
    return Loop(SchedulerOptions(**options), cache)


def question(number: int, size: int = 5) -> tuple[int, ...]:
    return tuple(range(2000 + 100 * number, 2000 + 100 * number + size))


# --- steps -----------------------------------------------------------------------------------------------------------


def test_a_prompt_is_read_in_chunks_and_then_answered_a_token_a_step() -> None:
    house = loop(prefill_chunk=4)
    sequence = house.add(range(10), limit=3)
    plans = house.run()
    assert [plan.rows for plan in plans] == [4, 4, 2, 1, 1]
    assert [plan.runs[0].outputs for plan in plans] == [0, 0, 1, 1, 1]
    assert [plan.runs[0].start for plan in plans] == [0, 4, 8, 10, 11]
    assert house.fed(sequence) == 12  # the last token is drawn, and nobody needs its successor


def test_a_long_prompt_stalls_an_answer_by_no_more_than_a_chunk() -> None:
    house = loop(prefill_chunk=16)
    talker = house.add(range(5), limit=50)
    house.step()
    house.add(range(1000, 1400))
    for count in range(2, 20):
        assert house.step().rows == 1 + 16
        assert len(talker.generated) == count


def test_tokens_that_an_answer_gets_at_once_are_read_in_one_step_before_younger_prompts() -> None:
    house = loop(prefill_chunk=16)
    talker = house.add(range(5), limit=50)
    house.step()
    house.add(range(1000, 1400))
    talker.generated += range(9)  # behind the one that was drawn
    plan = house.step()
    assert [len(run.tokens) for run in plan.runs] == [10, 6]
    assert [run.outputs for run in plan.runs] == [1, 0]
    assert [len(run.tokens) for run in house.step().runs] == [1, 16]


def test_prompts_are_read_oldest_first() -> None:
    house = loop(prefill_chunk=8)
    first, second = house.add(question(1, 10)), house.add(question(2, 10))
    plan = house.step()
    assert [(run.sequence, len(run.tokens)) for run in plan.runs] == [(first, 8)]
    plan = house.step()
    assert [(run.sequence, len(run.tokens)) for run in plan.runs] == [(first, 2), (second, 6)]


def test_more_sequences_than_the_cache_has_wait_their_turn() -> None:
    house = loop(sequences=2)
    sequences = [house.add(question(number), limit=3) for number in range(5)]
    admitted = [sequence for plan in house.run() for sequence in plan.admitted]
    assert admitted == sequences
    assert not house.scheduler.busy


@pytest.mark.seeds("S23")
def test_a_budget_of_zero_reads_the_prompt_and_asks_for_no_logits() -> None:
    house = loop(prefill_chunk=4)
    sequence = house.add(range(6), limit=0)
    plans = house.run()
    assert [plan.rows for plan in plans] == [4, 2]
    assert sum(run.outputs for plan in plans for run in plan.runs) == 0
    assert sequence.generated == []


# --- reuse -----------------------------------------------------------------------------------------------------------


def test_eight_cold_requests_compute_their_shared_prefix_once() -> None:
    house = loop()
    sequences = [house.add(SYSTEM + question(number)) for number in range(8)]
    house.run()
    assert house.cache.given == 1000 + 8 * 5
    assert [sequence.cached for sequence in sequences] == [0] + [1000] * 7


def test_without_reuse_everybody_computes_everything() -> None:
    house = loop(NoReuse())
    for number in range(8):
        house.add(SYSTEM + question(number))
    house.run()
    assert house.cache.given == 8 * 1005


def test_who_waits_for_a_prefix_does_not_hold_up_who_does_not() -> None:
    house = loop(prefill_chunk=64)
    house.add(SYSTEM + question(1))
    waiting, other = house.add(SYSTEM + question(2)), house.add(question(3))
    assert waiting not in house.step().admitted
    assert other.seq_id is not None


def test_who_waits_for_a_prefix_computes_the_rest_when_its_holder_is_cancelled() -> None:
    house = loop(prefill_chunk=64)
    holder, waiting = house.add(SYSTEM + question(1)), house.add(SYSTEM + question(2))
    for _ in range(3):
        house.step()
    house.end(holder)
    house.run()
    assert waiting.cached == 3 * 64
    assert house.cache.given == 1000 + 5


def test_one_of_many_that_wait_takes_over_when_the_holder_is_thrown_away() -> None:
    house = loop(prefill_chunk=64)
    holder = house.add(SYSTEM + question(0))
    rest = [house.add(SYSTEM + question(number)) for number in range(1, 8)]
    house.step()
    house.end(holder, keep=False)
    house.run()
    assert [sequence.cached for sequence in rest] == [0] + [1000] * 6
    assert house.cache.given == 64 + 1000 + 7 * 5


def test_a_conversation_continues_where_it_is() -> None:
    house = loop()
    first = house.add(question(1, 200), limit=10)
    house.run()
    slot = next(iter(house.cache.held))
    second = house.add(first.tokens(0, first.length) + question(2, 20), limit=2)
    plan = house.step()
    # 200 + 10 tokens, of which the last was drawn and not computed.
    assert second.cached == 209
    assert [run.seq_id for run in plan.runs] == [slot]
    assert not any(isinstance(edit, Copy) for edit in plan.edits)
    assert plan.rows == 21


@pytest.mark.parametrize(("tail", "copied"), [(32, False), (33, True)])
def test_a_copy_is_preferred_when_the_tail_costs_more_to_compute_again(tail, copied) -> None:
    house = loop(copy_cost=32)
    house.run(house.add(question(1, 60) + question(2, tail)))
    (held,) = house.cache.held
    newcomer = house.add(question(1, 60) + question(3))
    plan = house.step()
    assert newcomer.cached == 60
    assert (plan.runs[0].seq_id != held) is copied
    assert any(isinstance(edit, Copy) for edit in plan.edits) is copied


def test_a_copy_goes_to_the_sequence_that_was_not_used_for_longest() -> None:
    house = loop(sequences=3, copy_cost=0)
    for number in (1, 2, 3):
        house.run(house.add(question(number, 50)))
    house.run(house.add((*question(1, 50), 1)))  # the first is the newest now
    house.add((*question(3, 25), 1))
    assert house.step().edits == (Copy(2, 1, 25),)


def test_the_last_idle_sequence_is_continued_even_if_its_tail_is_lost() -> None:
    house = loop(sequences=1)
    house.run(house.add(question(1, 60) + question(2, 200)))
    newcomer = house.add(question(1, 60) + question(3))
    assert house.step().edits == (Cut(0, 60),)
    assert newcomer.cached == 60


def test_a_short_common_beginning_does_not_cost_a_long_conversation() -> None:
    house = loop(sequences=4, copy_cost=32)
    talk = house.add(question(0, 10) + question(1, 300))
    house.run()
    house.run(house.add(question(0, 10) + question(2, 40)))
    again = house.add(talk.tokens(0, 310) + question(3))
    house.run()
    assert again.cached == 310


@pytest.mark.parametrize(("shared", "copied"), [(32, False), (33, True)])
def test_a_prefix_that_is_computed_faster_than_copied_is_computed(shared, copied) -> None:
    house = loop(copy_cost=32)
    house.add(question(1, shared) + question(2), limit=50)
    house.step()
    guest = house.add(question(1, shared) + question(3))
    plan = house.step()
    assert any(isinstance(edit, Copy) for edit in plan.edits) is copied
    assert guest.cached == (shared if copied else 0)


@pytest.mark.parametrize(("shared", "waits"), [(32, False), (33, True)])
def test_nobody_waits_for_a_prefix_that_is_computed_faster_than_copied(shared, waits) -> None:
    house = loop(copy_cost=32)
    house.add(question(1, shared) + question(2))
    guest = house.add(question(1, shared) + question(3))
    assert (guest not in house.step().admitted) is waits


def test_a_prompt_that_is_cached_whole_computes_its_last_token_again() -> None:
    house = loop()
    first = house.add(question(1, 100), limit=4)
    house.run()
    second = house.add(first.prompt, limit=4)
    plan = house.step()
    assert second.cached == 99
    assert [(run.tokens, run.last) for run in plan.runs] == [((first.prompt[-1],), True)]


def test_a_running_sequence_lends_what_it_has_computed() -> None:
    house = loop()
    talker = house.add(SYSTEM, limit=50)
    for _ in range(8):
        house.step()
    guest = house.add(SYSTEM + question(1))
    assert Copy(talker.seq_id, 1, 1000) in house.step().edits
    assert guest.cached == 1000


def test_isolation_keys_never_share() -> None:
    house = loop()
    for namespace in ("", "key 1", "key 2"):
        house.run(house.add(SYSTEM + question(1), namespace=namespace))
    assert house.cache.given == 3 * 1005
    again = house.add(SYSTEM + question(2), namespace="key 1")
    house.run()
    assert again.cached == 1000


def test_an_echo_computes_every_token_of_its_prompt() -> None:
    house = loop(prefill_chunk=400)
    house.run(house.add(SYSTEM))
    echo = house.add(SYSTEM, echo=True, limit=3)
    plans = house.run()
    assert echo.cached == 0
    assert [run.outputs for plan in plans for run in plan.runs] == [400, 400, 200, 1, 1]
    assert [run.every for plan in plans for run in plan.runs] == [True, True, True, False, False]
    follower = house.add(SYSTEM + question(1))  # others may use what it computed
    house.run()
    assert follower.cached == 1000


# --- state that cannot be cut ----------------------------------------------------------------------------------------


def test_a_state_that_cannot_be_cut_is_used_only_whole() -> None:
    house = loop(cuttable=False)
    first = house.add(question(1, 100), limit=3)
    house.run()
    parted = house.add(question(1, 99) + question(2))
    house.run()
    assert parted.cached == 0
    follower = house.add(first.tokens(0, first.length) + question(3))
    house.run()
    assert follower.cached == 102


def test_nobody_waits_for_a_prefix_of_a_state_that_cannot_be_cut() -> None:
    house = loop(cuttable=False, prefill_chunk=64)
    house.add(SYSTEM + question(1))
    house.add(SYSTEM + question(2))
    assert len(house.step().admitted) == 2


# --- interrupts, ends ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [0, 1, 40])
@pytest.mark.parametrize("cuttable", [True, False])
def test_an_interrupted_step_is_undone_and_done_again(rows, cuttable) -> None:
    house = loop(prefill_chunk=64, cuttable=cuttable)
    sequence = house.add(question(1, 100), limit=2)
    house.step()
    house.step(interrupt_after=min(rows, 35))
    assert sequence.computed == (64 if cuttable else 0)
    house.run()
    assert len(sequence.generated) == 2


def test_who_ends_while_waiting_is_forgotten() -> None:
    house = loop(sequences=1)
    first, second, third = (house.add(question(number), limit=2) for number in range(3))
    house.step()
    house.end(second)
    house.run()
    assert house.done == [first, third]
    house.scheduler.finish(second)  # once more changes nothing
    assert not house.scheduler.busy


def test_what_a_sequence_computed_is_dropped_from_the_cache_if_it_is_not_to_be_kept() -> None:
    house = loop()
    sequence = house.add(question(1, 100), limit=5)
    house.step()
    house.end(sequence, keep=False)
    again = house.add(question(1, 100))
    house.run()
    assert again.cached == 0
    assert house.cache.given == 200


# --- shortage --------------------------------------------------------------------------------------------------------


def test_bounded_budgets_are_credited_before_they_start() -> None:
    house = loop(cells=100)
    house.add(question(1, 30), limit=20)
    second, third = house.add(question(2, 30), limit=20), house.add(question(3, 5), limit=1)
    house.step()
    assert second.seq_id is not None
    assert third.seq_id is None
    house.run()
    # An idle sequence had to go for the third, but nobody was ever preempted.
    assert not house.preempted


def test_who_does_not_fit_holds_up_who_came_later() -> None:
    house = loop(cells=100)
    house.add(question(1, 30), limit=40)
    large, small = house.add(question(2, 30), limit=40), house.add(question(3, 5), limit=1)
    house.step()
    assert (large.seq_id, small.seq_id) == (None, None)
    assert [sequence for plan in house.run() for sequence in plan.admitted] == [large, small]


def test_cells_that_a_running_sequence_shares_are_credited_once() -> None:
    house = loop(cells=1100)
    holder = house.add(SYSTEM, limit=30)
    for _ in range(8):
        house.step()
    guests = [house.add(SYSTEM + question(number), limit=15) for number in range(4)]
    house.step()
    # 1,030 are the holder's; each guest needs 20 of its own, so three fit.
    assert [guest.seq_id is not None for guest in guests] == [True, True, True, False]
    assert holder in house.live
    house.run()
    assert not house.preempted


def test_open_ended_sequences_start_on_their_prompt_and_the_youngest_is_preempted_without_a_trace() -> None:
    house = loop(cells=100)
    sequences = [house.add(question(number, 30), limit=60, bounded=False) for number in range(3)]
    plan = house.step()
    assert plan.admitted == tuple(sequences)
    house.run()
    assert house.preempted >= {sequences[2]}
    assert sequences[0] not in house.preempted
    calm = loop()
    same = [calm.add(question(number, 30), limit=60) for number in range(3)]
    calm.run()
    assert [sequence.generated for sequence in sequences] == [sequence.generated for sequence in same]
    assert [sequence.cached for sequence in sequences] == [0, 0, 0]


def test_what_was_reported_as_cached_stays_when_a_preempted_sequence_finds_more() -> None:
    house = loop(cells=64, sequences=3, copy_cost=0)
    first = house.add((*question(1, 20), 1), limit=20, bounded=False)
    second = house.add((*question(1, 20), 2), limit=25, bounded=False)
    third = house.add(question(3, 15), limit=20, bounded=False)
    house.run()
    assert house.preempted
    assert [first.cached, second.cached, third.cached] == [0, 20, 0]


def test_idle_sequences_are_dropped_oldest_first_before_anybody_is_preempted() -> None:
    house = loop(cells=100, sequences=4)
    for number in range(3):
        house.run(house.add(question(number, 30)))
    house.add(question(5, 60), limit=1)
    house.run()
    assert not house.preempted
    assert [house.prefixes.held(seq_id) for seq_id in range(3)] == [(), (), question(2, 30)]


def test_a_preempted_sequence_comes_back_only_after_another_has_ended() -> None:
    house = loop(sequences=2, prefill_chunk=8, cells=24, copy_cost=0)
    first = house.add(question(1, 8), limit=16, bounded=False)
    second = house.add(question(2, 8), limit=12, bounded=False)
    while not house.preempted:
        house.step()
    assert house.preempted == {second}
    while first in house.live:
        assert house.step().admitted == ()
    assert house.step().admitted == (second,)
    house.run()
    assert house.fed(second) > 8 + 11


def test_two_sequences_whose_cells_were_underrated_do_not_take_turns_for_ever() -> None:
    """The first holds cells of its own that it did not compute, since it went on in place."""
    house = loop(sequences=2, prefill_chunk=8, cells=24, copy_cost=0)
    house.run(house.add([1] * 12))
    house.add([1] * 12 + [2] * 4, limit=6)
    house.step()
    house.step()
    house.add([0] * 8, limit=6)
    house.run(steps=40)
    assert not house.preempted


def test_cells_that_were_shared_with_one_that_has_ended_do_not_bring_two_to_take_turns_for_ever() -> None:
    house = loop(sequences=3, prefill_chunk=12, cells=26, copy_cost=0)
    lender = house.add([1] * 12, limit=2)
    house.step()
    borrower = house.add([1] * 12 + [2] * 4, limit=8)
    house.step()
    assert borrower.cached == 12
    assert lender in house.done
    late = house.add([0] * 10, limit=4)
    house.run(steps=40)
    assert house.preempted == {late}


def test_who_was_preempted_comes_before_who_arrived_later() -> None:
    house = loop(cells=100)
    sequences = [house.add(question(number, 30), limit=60, bounded=False) for number in range(3)]
    house.step()
    later = house.add(question(4, 30), limit=60, bounded=False)
    house.run()
    assert house.preempted >= {sequences[2]}
    assert house.done == [*sequences, later]


def test_a_lone_sequence_has_nothing_to_give_up() -> None:
    house = loop(cells=10)
    house.add(range(8))
    house.scheduler.schedule()
    assert house.scheduler.relieve() is None
