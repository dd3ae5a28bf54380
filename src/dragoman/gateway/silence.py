"""Notices that nothing was said for a while. Costs one timer, which is not touched when something is: if it fires too early, it is set again for the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


class Silence:
    """Calls ``beat`` after each ``interval`` seconds without ``broken``. A beat that still goes on is never joined by another.

    ``busy`` tells that something is being said right now, to somebody who takes it slowly.
    """

    def __init__(self, beat: Callable[[], Awaitable[None]], *, interval: float, busy: Callable[[], bool]) -> None:
        self._beat = beat
        self._interval = interval
        self._busy = busy
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._beating: asyncio.Task[None] | None = None
        self._stopped = False

    def begin(self) -> None:
        """Listen from now on."""
        self.broken()
        self._arm()

    def broken(self) -> None:
        """Something was said."""
        self._last = self._loop.time()

    def stop(self) -> None:
        """Begin no beat any more. One that has begun ends by itself: what it says may have a number, which must not be missing."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self) -> None:
        due = self._last + self._interval
        self._timer = self._loop.call_at(due, self._on_time, due)

    def _on_time(self, due: float) -> None:
        now = max(self._loop.time(), due)  # a loop may call a hair early, and would call again at once
        if now >= self._last + self._interval:
            self._last = now
            if not self._busy() and (self._beating is None or self._beating.done()):
                self._beating = self._loop.create_task(self._run())
        self._arm()

    async def _run(self) -> None:
        if not self._stopped:
            await self._beat()
