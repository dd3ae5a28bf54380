"""Talking to an engine client in a test: requests in one line, waits with an end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar

from dragoman.core.request import Prompt, SamplingParams, TextPrompt
from dragoman.engines.base import EngineInfo, EngineOutput, EngineRequest, EngineStream
from dragoman.engines.simulated import INFO, SimulatedEngine, Step, tapes
from dragoman.protocol.frames import Data

T = TypeVar("T")

LIMIT = 20.0
"""Seconds of real time after which a test that waits has failed; nothing here takes long."""


def asking(
    text: str = "hello", *, prompt: Prompt | None = None, max_tokens: int = 100, **more: object
) -> EngineRequest:
    """A greedy request."""
    sampling = more.pop("sampling", SamplingParams(temperature=0.0))
    return EngineRequest(prompt=prompt or TextPrompt(text=text), max_tokens=max_tokens, sampling=sampling, **more)


async def soon(work: Awaitable[T]) -> T:
    """``work``, or a failed test."""
    return await asyncio.wait_for(work, LIMIT)


async def outputs(stream: EngineStream) -> list[EngineOutput]:
    """All that a stream yields."""

    async def gather() -> list[EngineOutput]:
        return [output async for output in stream]

    return await soon(gather())


async def text(stream: EngineStream) -> str:
    """What a stream generates, control tokens left out."""
    pieces = [output.payload for output in await outputs(stream) if isinstance(output, Data)]
    return b"".join(piece for piece in pieces if not piece.startswith(b"<|")).decode()


@asynccontextmanager
async def running(engine: SimulatedEngine) -> AsyncIterator[SimulatedEngine]:
    """Start it, and close it; nothing may be left of any request."""
    await soon(engine.start())
    try:
        yield engine
    finally:
        await soon(engine.aclose())
        assert engine.pending == 0, "every way out drops its entry (S112)"


def engine_for(written: Mapping[str, Sequence[Step]], **more: Any) -> SimulatedEngine:
    """An engine with a tape for each prompt."""
    return SimulatedEngine(tapes(written), **more)


def sent(engine: SimulatedEngine, spawn: int = 0) -> bytes:
    """All that one of its engines was written."""
    return bytes(engine.links.spawned[spawn].received)


def plain_info() -> EngineInfo:
    """An engine that announces nothing."""
    return replace(INFO, features=frozenset())
