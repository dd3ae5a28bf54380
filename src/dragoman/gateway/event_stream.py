"""Writes server-sent events, each in one piece, and fills long silences.

A stream costs one timer, which is not touched by a write: when it fires too early, it is set again for the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from starlette.types import Send

from dragoman.surfaces.base import ServerEvent

RawHeaders = list[tuple[bytes, bytes]]

HEADERS: Final[tuple[tuple[bytes, bytes], ...]] = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache, no-transform"),  # a proxy that compresses would collect events
    (b"x-accel-buffering", b"no"),  # and so would nginx
)


def raw(headers: Mapping[str, str]) -> RawHeaders:
    """Headers as ASGI wants them."""
    return [(name.encode(), value.encode()) for name, value in headers.items()]


class EventStream:
    """One response. What ``keepalive`` makes is written when nothing was written for ``interval`` seconds."""

    def __init__(self, send: Send, *, keepalive: Callable[[], bytes], interval: float) -> None:
        self._send = send
        self._keepalive = keepalive
        self._interval = interval
        self._loop = asyncio.get_running_loop()
        self._last = 0.0
        self._writing = False
        self._timer: asyncio.TimerHandle | None = None
        self._beat: asyncio.Task[None] | None = None

    async def open(self, headers: RawHeaders) -> None:
        """Commit the 200."""
        await self._send({"type": "http.response.start", "status": 200, "headers": [*HEADERS, *headers]})
        self._last = self._loop.time()
        self._arm()

    async def write(self, events: Iterable[ServerEvent]) -> None:
        """Write events, one by one. A keep-alive, which may have a number among them, never comes between."""
        self._writing = True
        for event in events:
            await self._send({"type": "http.response.body", "body": event.encode(), "more_body": True})
        self._writing = False
        self._last = self._loop.time()

    def stop(self) -> None:
        """Write no more keep-alives."""
        if self._timer is not None:
            self._timer.cancel()
        if self._beat is not None:
            self._beat.cancel()

    async def close(self) -> None:
        """End the response."""
        self.stop()
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    def _arm(self) -> None:
        due = self._last + self._interval
        self._timer = self._loop.call_at(due, self._on_time, due)

    def _on_time(self, due: float) -> None:
        now = max(self._loop.time(), due)  # a loop may call a hair early, and would call again at once
        if now >= self._last + self._interval:
            self._last = now
            # Else the client does not even take what there is.
            if not self._writing and (self._beat is None or self._beat.done()):
                self._beat = self._loop.create_task(self._pulse())
        self._arm()

    async def _pulse(self) -> None:
        await self._send({"type": "http.response.body", "body": self._keepalive(), "more_body": True})
