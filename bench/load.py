"""One cell of a table: a number of clients that follow a workload's script against one server."""

from __future__ import annotations

import asyncio

from bench.client import post
from bench.streams import Stream, read_stream
from bench.workloads import Place, Request, Script, Workload, completion, words


async def ask(port: int, request: Request) -> Stream:
    """Send one request and read its answer. Raises ``Refused``, ``BrokenStream`` or ``ConnectionError``."""
    exchange = await post(port, request.path, request.payload)
    return read_stream(exchange.sent, exchange.body)


async def warm_up(port: int) -> None:
    """Touch the weights and the code once, so that the first cell does not pay for it."""
    await ask(port, completion(words(40, "warm-up"), 8))


async def run(port: int, workload: Workload, clients: int, round_: int) -> tuple[Stream, ...]:
    """All clients at once, each at its own pace; the streams of all of them. Raises what ``ask`` raises."""
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(_follow(port, workload.script(Place(round=round_, clients=clients, client=client))))
            for client in range(clients)
        ]
    return tuple(stream for task in tasks for stream in task.result())


async def _follow(port: int, script: Script) -> list[Stream]:
    streams = []
    try:
        request = next(script)
        while True:
            stream = await ask(port, request)
            streams.append(stream)
            request = script.send(stream.text)
    except StopIteration:
        return streams
