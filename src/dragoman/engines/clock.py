"""Time as an argument: the loop's own, or one that a test moves by hand. Seconds everywhere."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Awaitable
from typing import Final, Protocol, TypeVar

T = TypeVar("T")

SETTLE_ROUNDS: Final = 50
"""Turns of the loop that ``FakeClock`` gives to whatever it woke; a chain of awaits needs one turn per link."""


class Clock(Protocol):
    """Monotonic time, and a way to let it pass."""

    def now(self) -> float:
        """Seconds since some fixed moment."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return once ``seconds`` have passed; zero gives others a turn."""
        ...


class LoopClock:
    """The event loop's clock."""

    def now(self) -> float:
        """The running loop's monotonic time."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """``asyncio.sleep``."""
        await asyncio.sleep(seconds)


class FakeClock:
    """Stands still until ``advance`` is called, so that a test of ten minutes takes none."""

    def __init__(self) -> None:
        self._now = 0.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        """Seconds advanced so far."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Wait for somebody to advance the clock far enough."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), woken))
        await woken

    async def advance(self, seconds: float = 0.0) -> None:
        """Let ``seconds`` pass: sleepers wake one by one at their own times, and each may sleep again in between."""
        target = self._now + seconds
        await self._settle()
        while self._sleepers and self._sleepers[0][0] <= target:
            due, _, woken = heapq.heappop(self._sleepers)
            self._now = due
            if not woken.done():
                woken.set_result(None)
                await self._settle()
        self._now = target

    async def _settle(self) -> None:
        for _ in range(SETTLE_ROUNDS):
            await asyncio.sleep(0)


async def within(clock: Clock, seconds: float, work: Awaitable[T]) -> T:
    """Await ``work``, but at most ``seconds`` of ``clock``; raises ``TimeoutError`` and cancels it then.

    ``asyncio.timeout`` knows only the loop's own time. Two tasks per call: not for hot paths.
    """
    job = asyncio.ensure_future(work)
    alarm = asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait((job, alarm), return_when=asyncio.FIRST_COMPLETED)
        if job.done():
            return job.result()
        raise TimeoutError
    finally:
        alarm.cancel()
        if not job.done():
            job.cancel()
