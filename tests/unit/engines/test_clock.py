from __future__ import annotations

import asyncio

import pytest

from dragoman.engines.clock import FakeClock, LoopClock, within


async def test_sleepers_wake_in_the_order_of_their_times_and_only_then():
    clock, woken = FakeClock(), []

    async def sleeper(name, seconds):
        await clock.sleep(seconds)
        woken.append((name, clock.now()))

    tasks = [asyncio.create_task(sleeper("late", 5)), asyncio.create_task(sleeper("early", 2))]
    await clock.advance(1.9)
    assert woken == []
    await clock.advance(10)
    assert woken == [("early", 2), ("late", 5)]
    assert clock.now() == 11.9
    await asyncio.gather(*tasks)


async def test_who_sleeps_again_while_time_passes_wakes_again():
    clock, ticks = FakeClock(), []

    async def tick():
        while True:
            await clock.sleep(1)
            ticks.append(clock.now())

    task = asyncio.create_task(tick())
    await clock.advance(3.5)
    assert ticks == [1, 2, 3]
    task.cancel()


async def test_within_gives_the_result_or_cancels_the_work():
    clock = FakeClock()
    assert await within(clock, 5, asyncio.sleep(0, "done")) == "done"
    never = asyncio.get_running_loop().create_future()
    waiting = asyncio.create_task(within(clock, 5, never))
    await clock.advance(5)
    with pytest.raises(TimeoutError):
        await waiting
    assert never.cancelled()


async def test_within_passes_the_works_own_failure_on():
    async def fails():
        raise LookupError

    with pytest.raises(LookupError):
        await within(FakeClock(), 5, fails())


async def test_the_loops_clock_is_the_loops_time():
    assert LoopClock().now() == pytest.approx(asyncio.get_running_loop().time(), abs=1)
    await LoopClock().sleep(0)
