"""A client that goes away, in whatever phase its request is, becomes one exception in the task that serves it."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

from starlette.types import Receive


class ClientGone(Exception):
    """Nobody is there any more to read the reply."""


class HangUp:
    """Cancels the body of its ``async with`` when the client disconnects; ``ClientGone`` leaves the block then.

    Works as ``asyncio.timeout`` does, with a disconnect in the place of the deadline: one task per request, and nothing
    per token. The request's body must have been read. After ``disarm`` a client may leave unnoticed.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._gone = False
        self._armed = True

    @property
    def gone(self) -> bool:
        """Whether the client has left."""
        return self._gone

    def disarm(self) -> None:
        """The client has all that it waits for (it may hang up on the last event, as the SDKs do)."""
        self._armed = False

    async def __aenter__(self) -> Self:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("there is no task to cancel")
        self._task = task
        self._cancelling = task.cancelling()
        self._listener = asyncio.create_task(self._listen())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._listener.cancel()
        if not self._gone:
            return
        if self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise ClientGone from error

    async def _listen(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if self._armed:
            self._gone = True
            self._task.cancel()
