"""A load client that costs next to nothing: it notes when bytes come and reads them later.

The server under test shares the machine's few cores, so every microsecond spent here would be measured as
the server's. The same client drives every server.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, cast

import httptools
import msgspec

from bench.sse import Piece

_TIMEOUT: Final = 900.0
"""Seconds for one answer: the slowest honest one on two cores without AVX-512 takes about two minutes."""


class Refused(Exception):
    """The server answered with something else than 200."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and its recorded answer; times are seconds of ``time.perf_counter``."""

    sent: float
    status: int
    body: tuple[Piece, ...]

    @property
    def content(self) -> bytes:
        """The whole body."""
        return b"".join(data for _, data in self.body)


class Connection(asyncio.Protocol):
    """One HTTP/1.1 connection, one request at a time, kept alive until it is closed."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._now = 0.0
        self._body: list[Piece] = []
        self._ended: asyncio.Future[int] | None = None

    async def request(self, method: str, path: str, body: bytes = b"") -> Exchange:
        """Send a request and record its answer. Raises ``ConnectionError`` when the server hangs up first."""
        if self._transport is None:
            raise ConnectionError("not connected")
        self._parser = httptools.HttpResponseParser(self)
        self._body = []
        self._ended = asyncio.get_running_loop().create_future()
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        sent = time.perf_counter()
        self._transport.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        async with asyncio.timeout(_TIMEOUT):
            status = await self._ended
        return Exchange(sent=sent, status=status, body=tuple(self._body))

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own class, not a subclass

    def data_received(self, data: bytes) -> None:
        self._now = time.perf_counter()
        self._parser.feed_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._ended is not None and not self._ended.done():
            self._ended.set_exception(ConnectionError(f"the server hung up: {exc}"))

    # httptools

    def on_body(self, body: bytes) -> None:
        self._body.append((self._now, body))

    def on_message_complete(self) -> None:
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(self._parser.get_status_code())


@asynccontextmanager
async def connect(port: int) -> AsyncIterator[Connection]:
    """Open a connection to a server on this machine."""
    _, connection = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port)
    try:
        yield connection
    finally:
        connection.close()


async def post(port: int, path: str, payload: Mapping[str, object]) -> Exchange:
    """One request on a connection of its own. Raises ``Refused`` unless the answer is a 200."""
    body = msgspec.json.encode(payload)
    started = time.perf_counter()
    async with connect(port) as connection:
        exchange = await connection.request("POST", path, body)
    if exchange.status != 200:
        raise Refused(f"{exchange.status} from {path}: {exchange.content[:500].decode(errors='replace')}")
    return Exchange(sent=started, status=exchange.status, body=exchange.body)
