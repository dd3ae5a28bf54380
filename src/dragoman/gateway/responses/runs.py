"""The responses that are being made in the background: started, found again, cancelled, and seen to their end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from dragoman.core.errors import Code, EngineFailed, ServiceError
from dragoman.core.events import Accepted, Finished
from dragoman.gateway.replies import mistake
from dragoman.gateway.responses.answer import PATIENCE_SECONDS, Answer
from dragoman.gateway.responses.broadcast import Broadcast
from dragoman.serving.generation import Generation
from dragoman.store.base import Store, StoredEvent
from dragoman.surfaces.base import ServerEvent

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS: Final = 30.0
"""Between two savings of a response that nothing happens to: who sees an older one knows that its server is gone."""

STALE_SECONDS: Final = 3 * HEARTBEAT_SECONDS

Begin = Callable[[Callable[[], None]], Awaitable[Generation]]
"""Starts the generation; calls its argument when the request has a slot or waits for one."""


class Run:
    """One response. ``resumable``: its events are kept, because the client asked for a stream."""

    def __init__(self, answer: Answer, store: Store, *, resumable: bool) -> None:
        self.answer = answer
        self.broadcast = Broadcast()
        self._store = store
        self.resumable = resumable
        self._queued: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stopping = False
        self._cancelling = False
        self._over = False
        self._task: asyncio.Task[None] | None = None

    async def start(self, begin: Begin) -> None:
        """Returns when it waits or runs, and is in the store. Raises ``ServiceError`` for what is wrong with it."""
        self._write(self.answer.projector.opening())
        self._task = asyncio.create_task(self._work(begin))
        self._task.add_done_callback(lambda _: self.broadcast.end())
        await asyncio.shield(self._queued)

    def beat(self) -> bytes:
        """Tells all who listen that it goes on; there is nothing that one of them gets alone."""
        if not self._over:
            self._write([self.answer.projector.beat()])
        return b""

    async def cancel(self) -> None:
        """End it before its time, unless it has ended; returns when it is saved as it ended. Whoever comes second waits with the first."""
        if self._task is None:
            return
        if not (self._cancelling or self._over):
            self._cancelling = True
            self._task.cancel()
        await self.ended()

    async def stop(self) -> None:
        """The server ends: the response fails."""
        self._stopping = True
        await self.cancel()

    async def ended(self) -> None:
        """Wait for its end, and until it is saved."""
        if self._task is not None:
            await asyncio.wait((self._task,))

    async def _work(self, begin: Begin) -> None:
        try:
            async with self._heartbeat():
                generation = await begin(self._on_queued)
                try:
                    await self._follow(generation)
                finally:
                    await generation.aclose()
        except ServiceError as error:
            await self._refused(error)
        except asyncio.CancelledError:
            await self._cancelled()
        except Exception:
            logger.exception("a background response failed by our own mistake")
            await self._refused(mistake())
        await self._save_events()

    def _on_queued(self) -> None:
        if not self._queued.done():
            self._queued.set_result(None)

    async def _refused(self, error: ServiceError) -> None:
        """Whoever started it hears of it as an error of his request, if he still waits; else the response has failed."""
        if self._over:
            return
        if self._queued.done():
            self._over = True
            self._write(self.answer.projector.fail(error))
            await self.answer.note()
        else:
            self._queued.set_exception(error)

    async def _follow(self, generation: Generation) -> None:
        async for event in generation:
            events = self.answer.projector.feed(event)
            if not isinstance(event, Finished):
                self._write(events)
                if isinstance(event, Accepted):
                    await self.answer.note()
                continue
            self._over = True
            try:
                await self.answer.settle()  # first: with its last event a client may go on from it
            finally:
                self._write(events)

    async def _cancelled(self) -> None:
        if self._over:  # nobody of ours: the loop itself ends
            return
        self._over = True
        if self._stopping:
            error = EngineFailed("the server was stopped", code=Code.SHUTTING_DOWN)
            self._write(self.answer.projector.fail(error))
        else:
            self._write(self.answer.projector.cancelled())
        self._on_queued()
        await self.answer.note()

    @asynccontextmanager
    async def _heartbeat(self) -> AsyncIterator[None]:
        async def beat() -> None:
            while True:
                await asyncio.sleep(HEARTBEAT_SECONDS)
                await self.answer.note()

        task = asyncio.create_task(beat())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def _write(self, events: list[ServerEvent]) -> None:
        self.broadcast.write(event for event in events if event.event is not None)  # [DONE] is for each listener's end

    async def _save_events(self) -> None:
        if not self.resumable or self._queued.exception() is not None:
            return
        events = [
            StoredEvent(sequence=number, name=event.event or "", data=event.data)
            for number, event in enumerate(self.broadcast.events)
        ]
        try:
            await self._store.append_events(self.answer.owner, self.answer.id, events)
        except Exception:
            logger.exception("the events of %s could not be stored", self.answer.id)


class Runs:
    """All that go on in this server."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._runs: dict[tuple[str, str], Run] = {}

    async def start(self, answer: Answer, begin: Begin, *, resumable: bool) -> Run:
        """Begin one. Raises ``ServiceError`` for what is wrong with it, or when there is no room."""
        name = (answer.owner, answer.id)
        self._runs[name] = run = Run(answer, self._store, resumable=resumable)
        try:
            await run.start(begin)
            await answer.keep()
        except BaseException:
            await run.cancel()  # nobody could ever ask for it
            raise
        finally:
            watcher = asyncio.ensure_future(run.ended())
            watcher.add_done_callback(lambda _: self._runs.pop(name))
        return run

    def find(self, owner: str, id: str) -> Run | None:
        """The one of this caller that goes on under this id."""
        return self._runs.get((owner, id))

    async def aclose(self) -> None:
        """End all of them; those that are not done have failed. A store that hangs is not waited for long."""
        stops = [asyncio.ensure_future(run.stop()) for run in self._runs.values()]
        if stops:
            await asyncio.wait(stops, timeout=PATIENCE_SECONDS)
