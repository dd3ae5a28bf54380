"""Why a prompt was not cached, in situations that are set up token by token."""

from __future__ import annotations

import pytest

from dragoman.scheduler.miss import Found, Miss, why
from dragoman.scheduler.scheduler import SchedulerOptions
from support.scheduling import Loop

SYSTEM = tuple(range(100, 300))
"""Two hundred tokens that several prompts begin with."""

LONE = tuple(range(1000, 1100))
"""A hundred that nothing else begins with."""


def loop(**options) -> Loop:
    return Loop(SchedulerOptions(**({"copy_cost": 32} | options)))


def told(house: Loop, prompt, **options) -> tuple[int, Miss | None]:
    """What a request that runs alone is told."""
    sequence = house.add(prompt, **options)
    house.run(sequence)
    return sequence.cached, sequence.miss


def test_a_prompt_that_begins_like_nothing_known_is_cold():
    house = loop()
    assert told(house, SYSTEM) == (0, Miss.COLD)
    assert told(house, LONE) == (0, Miss.COLD)


def test_a_prompt_that_goes_on_from_a_known_one_has_diverged_where_its_own_part_begins():
    house = loop()
    told(house, (*SYSTEM, 1, 2))
    assert told(house, (*SYSTEM, 7, 8)) == (200, Miss.DIVERGED)


def test_nothing_is_missing_where_all_but_the_last_token_was_known():
    house = loop()
    told(house, SYSTEM)
    assert told(house, SYSTEM) == (199, None)
    assert told(house, (1,)) == (0, None), "the only token is the last one"


def test_a_prompt_that_is_to_be_echoed_is_read_whole():
    house = loop()
    told(house, SYSTEM)
    assert told(house, SYSTEM, echo=True) == (0, Miss.ECHO)


def test_a_beginning_that_is_not_worth_a_copy_is_short():
    house = loop(copy_cost=32)
    told(house, SYSTEM)
    assert told(house, (*SYSTEM[:32], *LONE)) == (0, Miss.SHORT)
    assert told(house, (*SYSTEM[:33], *LONE)) == (33, Miss.DIVERGED)


def test_what_others_have_overwritten_was_evicted():
    house = loop(sequences=1)
    told(house, SYSTEM)
    told(house, LONE)
    assert told(house, SYSTEM) == (0, Miss.EVICTED)


def test_what_was_given_up_for_lack_of_cells_was_evicted():
    house = loop(sequences=4, cells=210)
    told(house, SYSTEM)
    told(house, LONE)
    assert house.full > 0
    assert told(house, SYSTEM) == (0, Miss.EVICTED)


def test_a_loss_of_less_than_a_copy_is_no_loss():
    house = loop(sequences=1, copy_cost=32)
    told(house, SYSTEM)
    told(house, LONE)
    assert told(house, (*SYSTEM[:32], 7, 8)) == (0, Miss.COLD)


def test_an_engine_that_reads_its_answers_again_says_that_it_does():
    house = loop(keep_answers=False)
    first = house.add(SYSTEM, limit=60)
    house.run()
    turn = (*SYSTEM, *first.generated, 7)
    assert told(house, turn) == (200, Miss.ANSWER)
    kept = loop()
    first = kept.add(SYSTEM, limit=60)
    kept.run()
    assert told(kept, (*SYSTEM, *first.generated, 7))[0] == 259


def test_what_was_thrown_away_as_broken_is_not_mourned():
    house = loop()
    broken = house.add(SYSTEM, limit=50)
    house.step()
    house.end(broken, keep=False)
    assert told(house, SYSTEM) == (0, Miss.COLD)


def test_a_state_that_can_not_be_cut_back_is_indivisible():
    house = loop(cuttable=False)
    told(house, (*SYSTEM, 1, 2))
    assert told(house, (*SYSTEM, 7, 8)) == (0, Miss.INDIVISIBLE)


def test_what_another_request_computes_at_the_same_time_and_is_not_worth_waiting_for_is_busy():
    house = loop(prefill_chunk=64, copy_cost=32)
    house.add(SYSTEM[:90], limit=50)
    house.step()
    second = house.add((*SYSTEM[:90], 7, 8))
    house.run(second)
    assert (second.cached, second.miss) == (64, Miss.BUSY)


def test_other_namespaces_tell_nothing():
    """Neither what they hold nor what they lost: one caller must not learn of another's prompts."""
    house = loop(sequences=1)
    told(house, SYSTEM, namespace="a")
    assert told(house, SYSTEM, namespace="b") == (0, Miss.COLD)
    assert told(house, SYSTEM, namespace="c") == (0, Miss.COLD)
    assert told(house, SYSTEM, namespace="a") == (0, Miss.EVICTED)


def test_a_request_that_was_preempted_keeps_what_it_was_told():
    house = loop(sequences=2, cells=230, copy_cost=0)
    first = house.add(LONE, limit=30, bounded=False)
    second = house.add(tuple(range(2000, 2100)), limit=30, bounded=False)
    house.run()
    assert house.preempted
    assert (first.miss, second.miss) == (Miss.COLD, Miss.COLD)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (Found(), Miss.COLD),
        (Found(known=5, ready=5, taken=5), Miss.DIVERGED),
        (Found(known=5, ready=5, taken=5, lost=6), Miss.EVICTED),
        (Found(known=5, ready=5, taken=5, lost=6, cause=Miss.ANSWER), Miss.ANSWER),
        (Found(known=5, ready=5, taken=5, lost=5), Miss.DIVERGED),
        (Found(known=5, ready=3, taken=0), Miss.BUSY),
        (Found(known=5, ready=5, taken=0), Miss.SHORT),
        (Found(known=9, ready=9, taken=9), None),
    ],
)
def test_one_reason_is_given_where_several_hold(found, reason):
    assert why(found, wanted=9, echo=False, cuttable=True, worth=0) is reason
