"""Talking to an engine client in a test: requests in one line, waits with an end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from dragoman.core.request import Prompt, SamplingParams, TextPrompt
from dragoman.engines.base import EngineOutput, EngineRequest, EngineStream
from dragoman.protocol.frames import Data

T = TypeVar("T")

LIMIT = 20.0
"""Seconds of real time after which a test that waits has failed; nothing here takes long."""


def asking(
    text: str = "hello", *, prompt: Prompt | None = None, max_tokens: int = 100, **more: object
) -> EngineRequest:
    """A greedy request."""
    sampling = more.pop("sampling", SamplingParams(temperature=0.0))
    return EngineRequest(prompt=prompt or TextPrompt(text=text), max_tokens=max_tokens, sampling=sampling, **more)  # type: ignore[arg-type]


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
