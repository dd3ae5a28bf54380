"""Writes server-sent events, each in one piece, and fills long silences."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from starlette.types import Send

from dragoman.gateway.silence import Silence
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
    """One response. What ``keepalive`` makes is written when nothing was written for ``interval`` seconds.

    All is written in the order in which it was asked for, so that what has numbers keeps them in order, however slow the client is.
    """

    def __init__(self, send: Send, *, keepalive: Callable[[], bytes], interval: float) -> None:
        self._send = send
        self._keepalive = keepalive
        self._writing = asyncio.Lock()
        self._silence = Silence(self._pulse, interval=interval, busy=self._writing.locked)

    async def open(self, headers: RawHeaders) -> None:
        """Commit the 200."""
        await self._send({"type": "http.response.start", "status": 200, "headers": [*HEADERS, *headers]})
        self._silence.begin()

    async def write(self, events: Iterable[ServerEvent]) -> None:
        """Write events, one by one. A keep-alive, which may have a number among them, never comes between."""
        async with self._writing:
            for event in events:
                await self._send({"type": "http.response.body", "body": event.encode(), "more_body": True})
        self._silence.broken()

    def stop(self) -> None:
        """Make no more keep-alives."""
        self._silence.stop()

    async def close(self) -> None:
        """End the response."""
        self.stop()
        async with self._writing:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _pulse(self) -> None:
        event = self._keepalive()  # before it waits: whatever is made later has a later number, and waits behind it
        async with self._writing:
            await self._send({"type": "http.response.body", "body": event, "more_body": True})
