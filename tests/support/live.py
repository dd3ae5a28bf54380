"""The real engine in a test: a llama.cpp child with the demo model, and what it answered as one value."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from dragoman.core.request import Prompt, SamplingParams, TextPrompt, TokenPrompt
from dragoman.engines.base import EngineOutput, EngineRequest, EngineStream
from dragoman.engines.client import EngineClient, Patience
from dragoman.engines.process import ProcessLink
from dragoman.protocol.frames import Accept, Data, Done, Echo, Progress

PATIENCE: Final = 240.0
"""Seconds after which a test that waits has failed: the machine may be busy with something else."""

PLAIN_TOKENS: Final = (20, 49_152)
"""Ids of SmolLM2 that are text: those below are control tokens, or stand for a single rare byte."""

FRANCE: Final = "What is the capital of France?"
FRANCE_ANSWER: Final = "L'Étoile, la Marseillaise, la femme, la femme au"
"""20 greedy tokens of the demo model, with its default system prompt: llama.cpp's own server and vLLM agree on them."""

CALM: Final = ("--flash-attention", "off", "--deterministic", "on", "--threads", "1")
"""One layout alone is left, so no measurement on a busy machine decides anything; and one thread, since two stall for long where
something else takes a core from one of them."""


@dataclass(slots=True)
class LiveEngine:
    """A client, the children that it started one after another, and what was said while they loaded."""

    client: EngineClient
    children: list[ProcessLink]
    loading: list[tuple[float, str]]
    restarts: list[None]


def live_engine(model: Path, cache_dir: Path, *flags: str) -> LiveEngine:
    """Not started yet."""
    argv = (
        sys.executable,
        "-m",
        "dragoman.engines.llama",
        "--model",
        str(model),
        "--cache-dir",
        str(cache_dir),
        *flags,
    )
    children: list[ProcessLink] = []
    loading: list[tuple[float, str]] = []
    restarts: list[None] = []

    async def spawn() -> ProcessLink:
        children.append(await ProcessLink.spawn(argv))
        return children[-1]

    client = EngineClient(
        spawn,
        patience=Patience(cancel=PATIENCE, restart=PATIENCE, stall=PATIENCE),
        on_progress=lambda part, phase: loading.append((part, phase)),
        on_restart=lambda: restarts.append(None),
    )
    return LiveEngine(client, children, loading, restarts)


@asynccontextmanager
async def running(engine: LiveEngine) -> AsyncIterator[LiveEngine]:
    """Start it, and stop it at the end."""
    try:
        async with asyncio.timeout(PATIENCE):
            await engine.client.start()
        yield engine
    finally:
        await engine.client.aclose()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A request's frames."""

    accept: Accept
    echoes: list[Echo] = field(default_factory=list)
    progress: list[Progress] = field(default_factory=list)
    data: list[Data] = field(default_factory=list)
    done: Done

    @property
    def ids(self) -> list[int]:
        """Generated tokens, of an extended request."""
        ids = [frame.token for frame in self.data if frame.token is not None]
        assert len(ids) == len(self.data), "the engine told no ids"
        return ids

    @property
    def text(self) -> str:
        """What they spell."""
        return b"".join(frame.payload for frame in self.data).decode()

    @property
    def numbers(self) -> list[object]:
        """Everything that the wire says of the generated tokens and of the prompt's, to six decimals."""
        return [(frame.token, frame.numeric) for frame in (*self.echoes[1:], *self.data)]


async def read(stream: EngineStream) -> Answer:
    """A stream to its end."""
    async with asyncio.timeout(PATIENCE):
        return fold([output async for output in stream])


def fold(outputs: Sequence[EngineOutput]) -> Answer:
    """Sort frames by kind."""
    first, last = outputs[0], outputs[-1]
    assert isinstance(first, Accept)
    assert isinstance(last, Done)
    return Answer(
        accept=first,
        echoes=[output for output in outputs if isinstance(output, Echo)],
        progress=[output for output in outputs if isinstance(output, Progress)],
        data=[output for output in outputs if isinstance(output, Data)],
        done=last,
    )


def greedy(prompt: Prompt | str, max_tokens: int, **more: Any) -> EngineRequest:
    """A request whose answer is the likeliest one. The seed decides nothing, but makes it an extended request: it gets ids."""
    return EngineRequest(
        prompt=TextPrompt(text=prompt) if isinstance(prompt, str) else prompt,
        max_tokens=max_tokens,
        sampling=more.pop("sampling", SamplingParams(temperature=0.0, seed=0)),
        **more,
    )


async def answer(engine: LiveEngine, request: EngineRequest) -> Answer:
    """Ask, and wait for the end."""
    return await read(await engine.client.submit(request))


async def together(engine: LiveEngine, requests: Sequence[EngineRequest]) -> list[Answer]:
    """Ask all at once, each in a slot of its own."""
    streams = [await engine.client.submit(replace(request, slot=slot)) for slot, request in enumerate(requests)]
    return list(await asyncio.gather(*map(read, streams)))


def arbitrary(seed: int, count: int) -> tuple[int, ...]:
    """Some text tokens: a prompt that no other test shares a prefix with."""
    return tuple(np.random.default_rng(seed).integers(*PLAIN_TOKENS, count).tolist())


def arbitrary_prompt(seed: int, count: int) -> TokenPrompt:
    """``arbitrary`` as a prompt."""
    return TokenPrompt(ids=arbitrary(seed, count))
