"""What a simulated engine does with a request, written down as steps that a person can read.

A script is any function from a request to steps; a list is the simplest answer, a generator the most able one. ACCEPT is
sent when a step says ``Begin``, or when the first output needs it, so whatever stands before is done before ACCEPT. After
the last step, or when the budget is used up, DONE is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from dragoman.core.json import JsonObject
from dragoman.core.request import SamplingParams
from dragoman.engines.base import EngineImage
from dragoman.engines.simulated.vocabulary import FIRST_AGAIN, FIRST_WORD, IM_END, PIECES, WORDS
from dragoman.protocol.frames import Frame, Numeric


@dataclass(frozen=True, slots=True)
class Begin:
    """Accept the request."""


@dataclass(frozen=True, slots=True)
class Emit:
    """Write one token. A control token is written only to requests with extensions, as real engines do."""

    payload: bytes
    token: int | None = None
    numeric: Numeric | None = None


@dataclass(frozen=True, slots=True)
class Say:
    """Write any frame that the session allows."""

    frame: Frame


@dataclass(frozen=True, slots=True)
class Raw:
    """Write bytes that no session would allow."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Delay:
    """Let ``seconds`` of the engine's clock pass; zero lets the other requests have their step."""

    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Hold:
    """Wait for somebody to set ``event``."""

    event: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True)
class Fail:
    """End the request with ERROR."""

    code: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Exit:
    """End the engine: a status, or a negative signal as in ``subprocess``."""

    code: int


@dataclass(frozen=True, slots=True)
class Hang:
    """The whole engine stops: it reads nothing more and writes nothing more."""


@dataclass(frozen=True, slots=True)
class CloseInput:
    """The engine stops reading, so that the next command can not be written."""


Step: TypeAlias = Begin | Emit | Say | Raw | Delay | Hold | Fail | Exit | Hang | CloseInput


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedRequest:
    """What the engine was asked. ``ids`` has ``PICTURE_POSITIONS`` numbers below zero for each picture. ``options`` is the whole extension; ``logprobs`` and ``echo`` are None where they are off.

    ``grammar`` is not enforced: a script that wants a sentence of it emits one. ``spawn`` counts the engines of this factory, from 0: the one that runs it.
    """

    id: int
    slot: int
    text: str
    ids: tuple[int, ...]
    max_tokens: int
    sampling: SamplingParams
    min_tokens: int
    stop_token_ids: tuple[int, ...]
    ignore_eos: bool
    grammar: str | None
    logprobs: int | None
    echo: int | None
    isolation: str
    images: tuple[EngineImage, ...]
    keep_prefix: bool
    extended: bool
    options: JsonObject
    spawn: int


Script: TypeAlias = Callable[[SimulatedRequest], Iterable[Step]]

Startup: TypeAlias = Callable[[int], Iterable[Step]]
"""The steps of loading, given which spawn it is, from 0. ``Begin``, ``Emit`` and ``Fail`` mean nothing there."""


def canned(*, tokens: int | None = None, delay: float = 0.0) -> Script:
    """The answer that is always the same: ``tokens`` words, one every ``delay`` seconds, then the end of the turn.

    Without ``tokens`` it is one sentence; a request gets more for ``min_tokens``, and words until its budget ends with ``ignore_eos``.
    """

    def script(request: SimulatedRequest) -> Iterator[Step]:
        yield Begin()
        count, enough = 0, max(request.min_tokens, len(WORDS) if tokens is None else tokens)
        while request.ignore_eos or count < enough:
            yield Delay(delay)
            word = FIRST_AGAIN if count and not count % len(WORDS) else FIRST_WORD + count % len(WORDS)
            yield Emit(PIECES[word], word)
            count += 1
        yield Emit(PIECES[IM_END], IM_END)

    return script


def say(text: str) -> list[Step]:
    """A text as tokens, one for each byte."""
    return [Emit(bytes([byte]), byte) for byte in text.encode()]


def tapes(written: Mapping[str, Sequence[Step]], otherwise: Script | None = None) -> Script:
    """The steps of the first key that the prompt contains; the canned answer for other prompts."""
    fallback = otherwise or canned()

    def script(request: SimulatedRequest) -> Iterable[Step]:
        for key, steps in written.items():
            if key in request.text:
                return steps
        return fallback(request)

    return script
