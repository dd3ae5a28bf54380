"""The application on a real socket: framing, keep-alive after refusals, a client that drops, an orderly end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from dragoman.gateway.server import Server, build_server
from support.house import CHAT, House

LIMIT = 20.0
"""Seconds after which a test that waits has failed."""


@dataclass
class Site:
    house: House
    server: Server
    url: str
    running: asyncio.Task[None]
    drained: asyncio.Event

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, port = self.url.removeprefix("http://").split(":")
        return await asyncio.open_connection(host, int(port))


@asynccontextmanager
async def site() -> AsyncIterator[Site]:
    house = House()
    started: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    drained = asyncio.Event()

    def drain() -> None:
        drained.set()
        house.service.drain()

    server = build_server(
        house.app, host="127.0.0.1", port=0, drain_timeout=10.0, on_started=started.set_result, on_drain=drain
    )
    running = asyncio.create_task(server.serve())
    async with asyncio.timeout(LIMIT):
        try:
            yield Site(house, server, await started, running, drained)
        finally:
            server.should_exit = True
            await running


def request(method: str, path: str, body: bytes = b"", *headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def read_reply(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """One reply with a Content-Length."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
    return int(head.split()[1]), await reader.readexactly(length)


async def read_chunk(reader: asyncio.StreamReader) -> bytes:
    size = int(await reader.readline(), 16)
    chunk = await reader.readexactly(size + 2)
    return chunk[:-2]


async def test_refusals_leave_the_connection_in_step() -> None:
    """seeds.md 3.10, HTTP: rejected 403, 404, 405 and 415 bodies do not desynchronise a kept connection."""
    async with site() as place:
        reader, writer = await place.connect()
        body = b'{"a": "' + b"x" * 1000 + b'"}'
        for method, path, extra, status in (
            ("POST", "/nowhere", (), 404),
            ("PUT", "/health", (), 405),
            ("POST", "/tokenize", ("Content-Type: text/plain",), 415),
            ("POST", "/tokenize", (), 400),
            ("GET", "/health", (), 200),
        ):
            writer.write(request(method, path, body, *extra))
            assert (await read_reply(reader))[0] == status
        writer.close()


@pytest.mark.seeds("S14")
@pytest.mark.parametrize("size", [1, 7, 4096])
async def test_a_body_in_chunks_is_read_as_one(size) -> None:
    """RFC 9112, 7.1; no length is announced."""
    body = json.dumps({"prompt": "ab" * 50}).encode()
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    async with site() as place:
        reader, writer = await place.connect()
        for _ in range(2):  # the second one begins where the first has ended
            writer.write(b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
            status, reply = await read_reply(reader)
            assert (status, json.loads(reply)["tokens"]) == (200, [97, 98] * 50)
        writer.close()


async def test_an_oversized_body_is_refused_unread_and_the_connection_closed() -> None:
    async with site() as place:
        reader, writer = await place.connect()
        writer.write(b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n{")
        status, body = await read_reply(reader)
        assert (status, json.loads(body)["error"]["code"]) == (413, "request_too_large")
        assert await reader.read() == b""
        writer.close()


async def test_a_client_that_drops_its_connection_is_cancelled() -> None:
    async with site() as place:
        reader, writer = await place.connect()
        writer.write(request("POST", "/v1/chat/completions", json.dumps({**CHAT, "stream": True}).encode()))
        stream = await place.house.engine.next_stream()
        stream.accept()
        await reader.readuntil(b"\r\n\r\n")
        await read_chunk(reader)
        writer.close()
        await writer.wait_closed()
        await stream.closing.wait()
        assert place.house.metric("cancellations_total", phase="prefill") == 1


async def test_a_stream_that_runs_when_the_server_is_asked_to_stop_is_finished() -> None:
    async with site() as place:
        reader, writer = await place.connect()
        writer.write(request("POST", "/v1/chat/completions", json.dumps({**CHAT, "stream": True}).encode()))
        stream = await place.house.engine.next_stream()
        stream.accept()
        await reader.readuntil(b"\r\n\r\n")
        await read_chunk(reader)
        os.kill(os.getpid(), signal.SIGTERM)  # obeyed once, and not raised again at the end
        await place.drained.wait()
        stream.say("still here")
        stream.done(emitted=1)
        rest = b""
        while b"[DONE]" not in rest:
            rest += await read_chunk(reader)
        assert b"still here" in rest
        await place.running
        writer.close()


async def test_the_url_names_the_port_that_was_taken() -> None:
    async with site() as place:
        assert place.url.startswith("http://127.0.0.1:")
        assert not place.url.endswith(":0")
