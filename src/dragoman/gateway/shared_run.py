"""One run of an application for all who ask for the same: the first request, and retries that come while it goes on.

The application runs in a task that belongs to no connection. For it, the client hangs up when nobody has listened for the time
of grace, in which a retry may come.
"""

from __future__ import annotations

import asyncio
import logging

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.gateway.hangup import HangUp
from dragoman.gateway.outcome import has_failed
from dragoman.gateway.recording import Recording

logger = logging.getLogger(__name__)


class SharedRun:
    """Serves a request whose ``body`` was read. ``limit`` bounds what is held of the answer, in bytes; ``grace`` is in seconds."""

    def __init__(self, app: ASGIApp, scope: Scope, body: bytes, *, limit: int, grace: float) -> None:
        self._app = app
        self._scope = scope
        self._body: bytes | None = body
        self._grace = grace
        self._recording = Recording(limit=limit)
        self._unheard = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def joinable(self) -> bool:
        """Whether who comes now will hear all of it."""
        return self._recording.whole and not self._unheard.is_set()

    async def serve(self) -> None:
        """Run the application to its end. What it raises is raised to those who follow."""
        error: Exception | None = None
        try:
            await self._app(self._scope, self._receive, self._send)
        except Exception as raised:
            error = raised
            if not self._recording.readers:
                logger.warning("a request failed to which nobody listened any more", exc_info=raised)
        finally:
            self._recording.end(error)
            self._stop_timer()

    async def follow(self, receive: Receive, send: Send) -> None:
        """Pass all of the answer on. Raises what the application raised, and ``ClientGone`` when this client left."""
        self._stop_timer()
        try:
            async with HangUp(receive) as line:

                async def deliver(message: Message) -> None:
                    if _is_last(message):
                        line.disarm()
                    await send(message)

                await self._recording.play(deliver)
        finally:
            if not self._recording.readers and not self._recording.ended:
                self._wait_for_another()

    def abandon(self) -> None:
        """Hang up on the application. Nobody can join any more."""
        self._stop_timer()
        self._unheard.set()

    def answer(self) -> tuple[Message, bytes] | None:
        """The first message and the whole body of an answer that ended well; None for any other."""
        messages = self._recording.messages
        if not self.joinable or not messages or not _is_last(messages[-1]) or has_failed(self._scope):
            return None
        return messages[0], b"".join(message.get("body", b"") for message in messages[1:])

    # --- the application's side ---

    async def _receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._unheard.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        await self._recording.add(message)
        if not self._recording.whole and not self._recording.readers:
            self.abandon()

    # --- the time of grace ---

    def _wait_for_another(self) -> None:
        if self._recording.whole:
            self._timer = asyncio.get_running_loop().call_later(self._grace, self.abandon)
        else:
            self.abandon()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _is_last(message: Message) -> bool:
    return message["type"] == "http.response.body" and not message.get("more_body", False)
