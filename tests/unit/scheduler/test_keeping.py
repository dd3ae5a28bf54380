"""Who asked for it is kept for five minutes after the last use, and at most half of the sequences are."""

from __future__ import annotations

import pytest

from dragoman.scheduler.keeping import KEEP_SECONDS, Keeping


def test_five_minutes_are_what_anthropic_documents_for_an_ephemeral_breakpoint() -> None:
    assert KEEP_SECONDS == 5 * 60


@pytest.mark.parametrize(("now", "kept"), [(100.0, True), (399.9, True), (400.0, False), (10_000.0, False)])
def test_a_sequence_is_kept_until_its_time_is_over(now: float, kept: bool) -> None:
    keeping = Keeping(most=2)
    keeping.keep(7, 100.0)
    assert keeping.keeps(7, now) is kept
    assert not keeping.keeps(8, now)


def test_each_use_begins_the_time_again_and_after_its_end_there_is_nothing_to_begin() -> None:
    keeping = Keeping(most=2)
    keeping.keep(1, 0.0)
    keeping.use(1, 200.0)
    assert keeping.keeps(1, 499.0)
    keeping.use(1, 500.0)
    assert not keeping.keeps(1, 501.0)


def test_one_more_than_may_be_kept_takes_the_place_of_the_one_that_was_used_longest_ago() -> None:
    keeping = Keeping(most=2)
    for seq_id in (1, 2):
        keeping.keep(seq_id, float(seq_id))
    keeping.use(1, 3.0)
    keeping.keep(3, 4.0)
    assert [keeping.keeps(seq_id, 5.0) for seq_id in (1, 2, 3)] == [True, False, True]


def test_what_is_over_takes_no_place() -> None:
    keeping = Keeping(most=1, seconds=10.0)
    keeping.keep(1, 0.0)
    keeping.keep(2, 10.0)
    assert [keeping.keeps(seq_id, 11.0) for seq_id in (1, 2)] == [False, True]


def test_a_sequence_that_holds_something_else_is_not_kept() -> None:
    keeping = Keeping(most=1)
    keeping.keep(1, 0.0)
    keeping.forget(1)
    keeping.forget(2)
    assert not keeping.keeps(1, 1.0)


def test_where_none_may_be_kept_none_is() -> None:
    keeping = Keeping(most=0)
    keeping.keep(1, 0.0)
    assert not keeping.keeps(1, 0.0)
