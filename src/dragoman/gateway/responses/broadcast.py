"""A response that is made whether anybody listens or not; whoever does hears it from where he left off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence

from dragoman.surfaces.base import ServerEvent


class Broadcast:
    """The events of one response, numbered from 0 as they come. They stay until the response has ended and nobody listens."""

    def __init__(self) -> None:
        self._log: list[ServerEvent] = []
        self._news = asyncio.Event()
        self._over = False

    @property
    def events(self) -> Sequence[ServerEvent]:
        """All so far."""
        return self._log

    def write(self, events: Iterable[ServerEvent]) -> None:
        """Tell everybody."""
        self._log += events
        self._wake()

    def end(self) -> None:
        """Nothing follows."""
        self._over = True
        self._wake()

    async def listen(self, after: int = -1) -> AsyncIterator[Sequence[ServerEvent]]:
        """The events with a greater number than ``after``, those that are there at once."""
        heard = after + 1
        while True:
            news = self._news  # before looking, so that nothing is missed
            if batch := self._log[heard:]:
                heard += len(batch)
                yield batch
            elif self._over:
                return
            else:
                await news.wait()

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()
