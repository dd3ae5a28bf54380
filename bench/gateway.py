"""What the gateway alone costs: Dragoman in front of the simulated engine, which computes nothing.

The engine runs in a process of its own, so the gateway's processor time can be told apart from it.
"""

from __future__ import annotations

import asyncio
import shlex
import sys
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec

from bench import procfs, servers
from bench.client import Connection, Refused, connect
from bench.load import ask
from bench.measures import percentile
from bench.servers import Server
from bench.streams import read_stream
from bench.workloads import Payload, completion

_STREAMS: Final = (1, 8, 16)
_PACE: Final = 0.01
"""Seconds between the tokens of a stream: 100 tokens per second, as the demo model gives one client."""
_PATH: Final = "/v1/completions"
_TINY: Final[Payload] = {"model": "default", "prompt": "Hello", "max_tokens": 1, "temperature": 0, "ignore_eos": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayCost:
    """Times are seconds; ``processor_per_token`` is keyed by the number of streams at once."""

    requests_per_second: float
    first_token_p50: float
    first_token_p95: float
    processor_per_token: Mapping[int, float]


def simulated(*, delay: float) -> Server:
    """Dragoman with an engine that computes nothing, and waits ``delay`` seconds before each token."""
    engine = (sys.executable, "-m", "dragoman.engines.simulated", "--slots", "16", "--delay", str(delay))
    command = (
        *(sys.executable, "-m", "dragoman", "serve", "--slots", "16", "--log-level", "warning"),
        *("--engine-command", shlex.join(engine)),
    )
    return Server(name="gateway", version=version("dragoman"), command=lambda port: (*command, "--port", str(port)))


async def measure(log: Path, *, seconds: float) -> GatewayCost:
    """Measure the three costs, each for about ``seconds``. Raises ``servers.Failed`` when the server does not start."""
    async with servers.running(simulated(delay=0.0), log) as gateway:
        await _requests_per_second(gateway.port, connections=16, seconds=0.5)  # warm-up
        first = await _first_tokens(gateway.port, seconds=seconds)
        requests = await _requests_per_second(gateway.port, connections=16, seconds=seconds)
    # An engine without pauses would fill every read with many tokens, and make them look cheaper than they are.
    async with servers.running(simulated(delay=_PACE), log) as gateway:
        await _processor_per_token(gateway.port, gateway.pid, streams=1, seconds=0.5)  # warm-up
        costs = {
            streams: await _processor_per_token(gateway.port, gateway.pid, streams=streams, seconds=seconds)
            for streams in _STREAMS
        }
    return GatewayCost(
        requests_per_second=requests,
        first_token_p50=percentile(first, 0.50),
        first_token_p95=percentile(first, 0.95),
        processor_per_token=costs,
    )


async def _requests_per_second(port: int, *, connections: int, seconds: float) -> float:
    """Buffered completions of one token, one after the other on each connection."""
    body = msgspec.json.encode(_TINY)
    until = time.perf_counter() + seconds

    async def repeat(connection: Connection) -> int:
        count = 0
        while time.perf_counter() < until:
            exchange = await connection.request("POST", _PATH, body)
            if exchange.status != 200:
                raise Refused(f"{exchange.status}: {exchange.content[:200].decode(errors='replace')}")
            count += 1
        return count

    started = time.perf_counter()
    async with AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(connect(port)) for _ in range(connections)]
        counts = await asyncio.gather(*(repeat(connection) for connection in opened))
    return sum(counts) / (time.perf_counter() - started)


async def _first_tokens(port: int, *, seconds: float) -> list[float]:
    """Times to first token of streams that come one at a time: HTTP, admission, the engine's pipe and back."""
    body = msgspec.json.encode(completion("Hello", 1).payload)
    until = time.perf_counter() + seconds
    times = []
    async with connect(port) as connection:
        while time.perf_counter() < until:
            exchange = await connection.request("POST", _PATH, body)
            times.append(read_stream(exchange.sent, exchange.body).time_to_first_token)
    return times


async def _processor_per_token(port: int, pid: int, *, streams: int, seconds: float) -> float:
    """Processor seconds of the gateway's process per token that the clients got, all else of a request included."""
    until = time.perf_counter() + seconds
    request = completion("Hello", 256)

    async def repeat() -> int:
        tokens = 0
        while time.perf_counter() < until:
            tokens += (await ask(port, request)).output_tokens
        return tokens

    before = procfs.processor_seconds(pid)
    counts = await asyncio.gather(*(repeat() for _ in range(streams)))
    return (procfs.processor_seconds(pid) - before) / sum(counts)
