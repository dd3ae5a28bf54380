from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from bench.client import Refused, connect, post

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


@asynccontextmanager
async def server(*answers):
    """A port that gives each request the next answer, a list of writes; an empty one hangs up."""
    left = list(answers)
    seen = []

    async def serve(reader, writer):
        while left:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            seen.append((head.split(b"\r\n")[0], await reader.readexactly(length)))
            pieces = left.pop(0)
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
            if not pieces:
                break
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        yield listening.sockets[0].getsockname()[1], seen


async def test_a_chunked_answer_is_recorded_without_its_framing():
    async with server([HEAD, b"5\r\nhello\r\n", b"6\r\n world\r\n0\r\n\r\n"]) as (port, seen):
        exchange = await post(port, "/v1/completions", {"prompt": "é"})
    assert exchange.content == b"hello world"
    assert seen == [(b"POST /v1/completions HTTP/1.1", '{"prompt":"é"}'.encode())]


async def test_times_never_run_backwards():
    async with server([HEAD, b"1\r\na\r\n", b"1\r\nb\r\n", b"0\r\n\r\n"]) as (port, _):
        exchange = await post(port, "/", {})
    times = [exchange.sent, *(when for when, _ in exchange.body)]
    assert times == sorted(times)


async def test_a_connection_serves_several_requests():
    answer = [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", b"ok"]
    async with server(answer, answer) as (port, seen), connect(port) as connection:
        bodies = [(await connection.request("POST", "/", body)).content for body in (b"1", b"2")]
    assert bodies == [b"ok", b"ok"]
    assert [body for _, body in seen] == [b"1", b"2"]


async def test_another_status_is_refused_with_the_servers_words():
    async with server([b"HTTP/1.1 429 Too Many\r\nContent-Length: 10\r\n\r\nqueue_full"]) as (port, _):
        with pytest.raises(Refused, match="429 from /v1/x: queue_full"):
            await post(port, "/v1/x", {})


async def test_a_server_that_hangs_up_is_a_broken_connection():
    async with server([]) as (port, _):
        with pytest.raises(ConnectionError):
            await post(port, "/", {})
