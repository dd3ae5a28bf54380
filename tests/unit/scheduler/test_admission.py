"""The queue's rules, row by row. Expected decisions are written from seeds.md S128 to S132."""

from __future__ import annotations

import itertools

import pytest

from dragoman.scheduler.admission import (
    ARRIVAL,
    TURN,
    Admission,
    Admitted,
    Refused,
    Verdict,
    on_arrival,
    on_turn,
)


def queue(slots: int = 2, max_queue: int = 8, timeout: float = 300) -> Admission:
    return Admission(slots=slots, max_queue=max_queue, timeout=timeout)


def busy(slots: int = 2, max_queue: int = 8, timeout: float = 300) -> Admission:
    """A queue whose slots are all held since time 0."""
    admission = queue(slots, max_queue, timeout)
    for slot in range(slots):
        admission.enter(f"holder {slot}", now=0, pin=slot)
    return admission


@pytest.mark.parametrize("table", [ARRIVAL, TURN])
def test_every_combination_of_facts_has_a_verdict(table) -> None:
    columns = len(table[0]) - 1
    for facts in itertools.product((True, False), repeat=columns):
        fitting = [
            row for row in table if all(want in (None, fact) for want, fact in zip(row[:-1], facts, strict=True))
        ]
        assert fitting, facts


@pytest.mark.seeds("S128", "S131", "S132")
@pytest.mark.parametrize(
    ("closed", "fits", "room", "cancelled", "verdict"),
    [
        (True, True, True, True, "closed"),
        (True, False, False, False, "closed"),
        (False, False, False, True, "queue_full"),
        (False, False, False, False, "queue_full"),
        (False, False, True, True, "cancelled"),
        (False, True, True, True, "cancelled"),
        (False, True, False, False, "admit"),
        (False, True, True, False, "admit"),
        (False, False, True, False, "wait"),
    ],
)
def test_an_arrival_is_judged_by_the_first_fact_that_matters(closed, fits, room, cancelled, verdict) -> None:
    assert on_arrival(closed=closed, fits=fits, room=room, cancelled=cancelled) == verdict


@pytest.mark.seeds("S130")
def test_an_expired_ticket_times_out_although_a_slot_is_free() -> None:
    assert on_turn(expired=True, fits=True) == "queue_timeout"
    assert on_turn(expired=True, fits=False) == "queue_timeout"
    assert on_turn(expired=False, fits=True) == "admit"
    assert on_turn(expired=False, fits=False) == "wait"


def test_a_free_slot_is_given_at_once_lowest_first() -> None:
    admission = queue()
    assert admission.enter("a", now=1) == (Admitted("a", 0, 0.0),)
    assert admission.enter("b", now=1) == (Admitted("b", 1, 0.0),)
    assert (admission.active, admission.queued) == (2, 0)


@pytest.mark.seeds("S128")
def test_waiters_are_served_in_order_and_told_how_long_they_waited() -> None:
    admission = busy()
    assert admission.enter("a", now=1) == ()
    assert admission.enter("b", now=2) == ()
    assert admission.queued == 2
    assert admission.release(1, now=5) == (Admitted("a", 1, 4.0),)
    assert admission.release(0, now=7) == (Admitted("b", 0, 5.0),)


@pytest.mark.seeds("S128")
def test_one_more_than_the_queue_holds_is_refused() -> None:
    admission = busy(max_queue=2)
    assert admission.enter("a", now=0) == ()
    assert admission.enter("b", now=0) == ()
    assert admission.enter("c", now=0) == (Refused("c", Verdict.QUEUE_FULL),)
    assert admission.queued == 2


@pytest.mark.seeds("S129")
def test_with_no_queue_a_pinned_ticket_to_a_busy_slot_is_refused_although_another_is_free() -> None:
    admission = queue(slots=2, max_queue=0)
    admission.enter("holder", now=0, pin=0)
    assert admission.enter("pinned", now=0, pin=0) == (Refused("pinned", Verdict.QUEUE_FULL),)
    assert admission.enter("anyone", now=0) == (Admitted("anyone", 1, 0.0),)


@pytest.mark.seeds("S130")
def test_the_deadline_is_checked_before_a_slot_is_given() -> None:
    admission = busy(slots=1, timeout=10)
    admission.enter("late", now=0)
    admission.enter("in time", now=5)
    assert admission.next_deadline == 10
    assert admission.release(0, now=10) == (
        Refused("late", Verdict.QUEUE_TIMEOUT),
        Admitted("in time", 0, 5.0),
    )


@pytest.mark.seeds("S130")
def test_time_alone_ends_a_wait() -> None:
    admission = busy(slots=1, timeout=10)
    admission.enter("a", now=0)
    assert admission.advance(9.99) == ()
    assert admission.advance(10) == (Refused("a", Verdict.QUEUE_TIMEOUT),)
    assert admission.next_deadline is None


@pytest.mark.seeds("S130")
def test_an_expired_waiter_makes_room_for_an_arrival() -> None:
    admission = busy(slots=1, max_queue=1, timeout=10)
    admission.enter("old", now=0)
    assert admission.enter("new", now=11) == (Refused("old", Verdict.QUEUE_TIMEOUT),)
    assert admission.queued == 1


@pytest.mark.seeds("S131")
def test_a_ticket_for_any_slot_passes_a_pinned_one_that_waits_for_another() -> None:
    admission = busy()
    admission.enter("pinned", now=0, pin=0)
    admission.enter("any", now=0)
    assert admission.release(1, now=1) == (Admitted("any", 1, 1.0),)
    assert admission.release(0, now=2) == (Admitted("pinned", 0, 2.0),)


@pytest.mark.seeds("S131")
def test_an_earlier_pinned_ticket_keeps_its_target() -> None:
    admission = busy()
    admission.enter("pinned", now=0, pin=0)
    admission.enter("any", now=0)
    assert admission.release(0, now=1) == (Admitted("pinned", 0, 1.0),)


@pytest.mark.seeds("S131")
def test_an_earlier_ticket_for_any_slot_comes_before_a_later_pinned_one() -> None:
    admission = busy()
    admission.enter("any", now=0)
    admission.enter("pinned", now=0, pin=1)
    assert admission.release(1, now=1) == (Admitted("any", 1, 1.0),)


@pytest.mark.seeds("S131")
def test_a_full_queue_does_not_refuse_a_ticket_that_can_start() -> None:
    admission = queue(slots=2, max_queue=1)
    admission.enter("holder", now=0, pin=0)
    admission.enter("pinned", now=0, pin=0)
    assert admission.enter("any", now=0) == (Admitted("any", 1, 0.0),)


@pytest.mark.seeds("S132")
def test_a_ticket_that_leaves_the_queue_is_never_admitted() -> None:
    admission = busy(slots=1)
    admission.enter("a", now=0)
    admission.enter("b", now=0)
    assert admission.leave("a", now=1) == (Refused("a", Verdict.CANCELLED),)
    assert admission.release(0, now=2) == (Admitted("b", 0, 2.0),)
    assert admission.leave("a", now=3) == ()


@pytest.mark.seeds("S132")
def test_full_and_closed_are_said_before_cancelled() -> None:
    full = busy(slots=1, max_queue=0)
    assert full.enter("a", now=0, cancelled=True) == (Refused("a", Verdict.QUEUE_FULL),)
    free = queue()
    assert free.enter("b", now=0, cancelled=True) == (Refused("b", Verdict.CANCELLED),)
    free.close()
    assert free.enter("c", now=0, cancelled=True) == (Refused("c", Verdict.CLOSED),)


def test_closing_refuses_who_waits_and_who_comes_but_not_who_runs() -> None:
    admission = busy(slots=1)
    admission.enter("a", now=0)
    assert admission.close() == (Refused("a", Verdict.CLOSED),)
    assert admission.enter("b", now=0) == (Refused("b", Verdict.CLOSED),)
    assert admission.active == 1
    assert admission.release(0, now=1) == ()


def test_a_slot_is_spare_only_while_nobody_waits_for_any() -> None:
    admission = queue(slots=2)
    assert admission.spare() == 0
    assert admission.spare() == 1
    assert admission.spare() is None
    admission.enter("a", now=0, pin=0)
    admission.release(1, now=1)
    assert admission.spare() is None, "it waits for another slot, and still comes first"
    assert admission.release(0, now=2) == (Admitted("a", 0, 2),)
    assert admission.spare() == 1


def test_misuse_is_refused() -> None:
    admission = busy(slots=1)
    admission.enter("a", now=0)
    for misuse in (
        lambda: admission.enter("a", now=0),
        lambda: admission.enter("b", now=0, pin=1),
        lambda: admission.enter("b", now=0, pin=-1),
        lambda: admission.release(1, now=0),
        lambda: queue().release(0, now=0),
    ):
        with pytest.raises(ValueError):
            misuse()
