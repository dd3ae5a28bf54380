"""Waiting for a slot on the event loop; the rules themselves are tested in scheduler/test_admission.py."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.core.errors import Code, InvalidRequest, Overloaded
from dragoman.serving.gate import Gate
from support.observers import Diary
from support.virtual_time import settle


def gate(diary: Diary, *, slots: int = 1, max_queue: int = 2, queue_timeout: float = 300) -> Gate:
    return Gate(
        slots=slots,
        max_queue=max_queue,
        queue_timeout=queue_timeout,
        clock=asyncio.get_running_loop().time,
        observer=diary,
    )


async def test_a_free_slot_is_had_at_once() -> None:
    diary = Diary()
    entrance = gate(diary)
    admitted = await entrance.enter()
    assert (admitted.slot, admitted.waited) == (0, 0.0)
    assert diary.load == (1, 0)
    entrance.leave(0)
    assert diary.load == (0, 0)


@pytest.mark.seeds("S128")
async def test_a_waiter_gets_the_slot_and_learns_how_long_it_waited() -> None:
    diary = Diary()
    entrance = gate(diary)
    await entrance.enter()
    waiter = asyncio.create_task(entrance.enter())
    await asyncio.sleep(4)
    assert diary.load == (1, 1)
    entrance.leave(0)
    assert (await waiter).waited == 4
    assert diary.of("admitted") == [(0.0,), (4.0,)]


@pytest.mark.seeds("S128")
async def test_a_full_queue_refuses_with_a_hint_to_come_back() -> None:
    diary = Diary()
    entrance = gate(diary, max_queue=0)
    await entrance.enter()
    with pytest.raises(Overloaded) as refusal:
        await entrance.enter()
    assert (refusal.value.code, refusal.value.retry_after) == (Code.QUEUE_FULL, 1)
    assert diary.of("rejected") == [()]
    assert entrance.rejected == 1


@pytest.mark.seeds("S128", "S130")
async def test_a_wait_ends_at_its_deadline() -> None:
    diary = Diary()
    entrance = gate(diary, queue_timeout=300)
    await entrance.enter()
    with pytest.raises(Overloaded) as refusal:
        await entrance.enter()
    assert refusal.value.code is Code.QUEUE_TIMEOUT
    assert asyncio.get_running_loop().time() == pytest.approx(300)
    assert diary.of("timed_out") == [()]
    assert diary.load == (1, 0)


async def test_each_waiter_has_a_deadline_of_its_own() -> None:
    diary = Diary()
    entrance = gate(diary, queue_timeout=10)
    await entrance.enter()
    first = asyncio.create_task(entrance.enter())
    await asyncio.sleep(6)
    second = asyncio.create_task(entrance.enter())
    await asyncio.wait({first})
    assert asyncio.get_running_loop().time() == pytest.approx(10)
    await asyncio.wait({second})
    assert asyncio.get_running_loop().time() == pytest.approx(16)
    assert [type(task.exception()) for task in (first, second)] == [Overloaded, Overloaded]


@pytest.mark.seeds("S132")
async def test_who_leaves_the_queue_is_counted_as_cancelled_and_not_as_admitted() -> None:
    diary = Diary()
    entrance = gate(diary)
    await entrance.enter()
    waiter = asyncio.create_task(entrance.enter())
    await settle()
    waiter.cancel()
    await asyncio.wait({waiter})
    assert diary.of("cancelled") == [("queue",)]
    assert diary.of("admitted") == [(0.0,)]
    assert diary.load == (1, 0)


@pytest.mark.seeds("S132")
@pytest.mark.parametrize("freed_first", [True, False])
async def test_a_slot_freed_in_the_moment_of_leaving_is_not_lost(freed_first) -> None:
    diary = Diary()
    entrance = gate(diary)
    await entrance.enter()
    leaving = asyncio.create_task(entrance.enter())
    staying = asyncio.create_task(entrance.enter())
    await settle()
    if freed_first:
        entrance.leave(0)
        leaving.cancel()
    else:
        leaving.cancel()
        entrance.leave(0)
    assert (await staying).slot == 0
    assert leaving.cancelled()
    assert diary.of("cancelled") == [("queue",)]
    assert len(diary.of("admitted")) == 2
    assert diary.load == (1, 0)


async def test_who_leaves_in_the_moment_of_being_refused_is_no_cancellation() -> None:
    diary = Diary()
    entrance = gate(diary)
    await entrance.enter()
    waiter = asyncio.create_task(entrance.enter())
    await settle()
    entrance.close()
    waiter.cancel()
    await asyncio.wait({waiter})
    assert waiter.cancelled()
    assert not diary.of("cancelled")
    assert diary.load == (1, 0)


@pytest.mark.seeds("S133")
async def test_a_slot_that_does_not_exist_is_refused_by_name() -> None:
    entrance = gate(Diary(), slots=2)
    for slot in (-1, 2):
        with pytest.raises(InvalidRequest) as refusal:
            await entrance.enter(slot)
        assert refusal.value.feature == "cache_slot"
    assert (await entrance.enter(1)).slot == 1


async def test_closing_sends_waiters_away_and_lets_holders_finish() -> None:
    diary = Diary()
    entrance = gate(diary)
    await entrance.enter()
    waiter = asyncio.create_task(entrance.enter())
    await settle()
    entrance.close()
    for entry in (waiter, entrance.enter()):
        with pytest.raises(Overloaded) as refusal:
            await entry
        assert refusal.value.code is Code.SHUTTING_DOWN
    assert diary.load == (1, 0)
    assert not diary.of("rejected")
    entrance.leave(0)


async def test_only_slots_that_nobody_waits_for_are_lent() -> None:
    diary = Diary()
    entrance = gate(diary, slots=2)
    first = await entrance.enter()
    assert await entrance.borrow() == 1
    assert diary.load == (2, 0)
    assert len(diary.of("admitted")) == 1, "a borrowed slot is no admission"
    waiter = asyncio.create_task(entrance.enter())
    borrower = asyncio.create_task(entrance.borrow())
    await settle()
    entrance.leave(1)
    assert (await waiter).slot == 1
    assert not borrower.done()
    entrance.leave(first.slot)
    assert await borrower == 0


@pytest.mark.parametrize("freed_first", [False, True])
async def test_a_borrower_that_leaves_takes_no_slot_with_it(freed_first) -> None:
    diary = Diary()
    entrance = gate(diary)
    admitted = await entrance.enter()
    borrower = asyncio.create_task(entrance.borrow())
    await settle()
    if freed_first:
        entrance.leave(admitted.slot)
    borrower.cancel()
    await asyncio.wait({borrower})
    if not freed_first:
        entrance.leave(admitted.slot)
    assert diary.load == (0, 0)
    assert (await entrance.enter()).slot == 0
