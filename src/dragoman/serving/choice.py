"""One sequence as the events of one choice, and what becomes of its slot however it ends.

A choice ends in one of four ways: the engine says Done; a stop matches (the engine is told to stop, and the client hears at once);
the engine fails it; or nobody wants it any more. The slot is free only when the engine's own last frame has come (seeds.md 2.6,
rule 3), so the second and the fourth way leave a task behind that waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from dragoman.core.errors import Code, EngineFailed, ServiceError
from dragoman.core.events import ChoiceFinished, FinishReason, PromptRead, Usage
from dragoman.core.observer import Outcome
from dragoman.engines.base import Engine, EngineInfo, EngineOutput, EngineRequest, EngineStream
from dragoman.protocol.frames import Accept, Data, Done, Echo
from dragoman.serving.answer import AnswerReader
from dragoman.serving.deltas import Delta
from dragoman.serving.lease import Pace
from dragoman.serving.pieces import Pieces
from dragoman.serving.pixels import Pixels
from dragoman.serving.prompts import PromptView, read_back
from dragoman.serving.strict_calls import StrictCalls

logger = logging.getLogger(__name__)

ChoiceEvent: TypeAlias = PromptRead | Delta | ChoiceFinished

Spawn: TypeAlias = Callable[[Coroutine[object, object, None]], "asyncio.Task[None]"]
"""Starts a task that outlives the request, and keeps it from being collected."""

Released: TypeAlias = Callable[[Outcome, Usage], None]
"""Called once, when the engine has let go of the sequence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What all sequences of a server are worked on with."""

    engine: Engine
    info: EngineInfo
    pieces: Pieces
    spawn: Spawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How one sequence is read: its answer, its prompt, and the rhythm of its tokens."""

    reader: AnswerReader
    view: PromptView
    pace: Pace
    choice: int = 0
    strict: StrictCalls | None = None


async def begin(
    desk: Desk, request: EngineRequest, pixels: Pixels, open_: Callable[[], Reading], released: Released
) -> Choice:
    """Start a sequence; returns when the engine has accepted it. Raises ``ServiceError`` before that.

    ``open_`` is called first. ``pixels`` are decoded for it, and held until the engine has taken them. Cancelling the call cancels the
    sequence. Whatever happens, a bug of ours in ``open_`` too, ``released`` is called when the engine has let go.
    """
    stream: EngineStream | None = None
    try:
        reading = open_()
        stream = await desk.engine.submit(replace(request, images=await pixels.decode()))
        outputs = aiter(stream)
        accept = await _first(outputs)
    except BaseException as error:
        outcome: Outcome = "cancelled" if isinstance(error, asyncio.CancelledError) else "failed"
        desk.spawn(_let_go(stream, pixels, released, outcome))
        raise
    pixels.release()
    return Choice(desk, stream, outputs, accept, reading, released)


class Choice:
    """Iterate once, in one task, for the events; close it in that task whatever happens.

    Iteration raises ``ServiceError`` in place of ``ChoiceFinished`` where the engine failed. ``usage`` is what it has cost so far.
    """

    def __init__(
        self,
        desk: Desk,
        stream: EngineStream,
        outputs: AsyncIterator[EngineOutput],
        accept: Accept,
        reading: Reading,
        released: Released,
    ) -> None:
        self.accept = accept
        self._desk = desk
        self._stream = stream
        self._outputs = outputs
        self._index = reading.choice
        self._reader = reading.reader
        self._view = reading.view
        self._pace = reading.pace
        self._strict = reading.strict
        self._released = released
        self._echoes: list[Echo] = []
        self._emitted: int | None = None
        self._over = False
        self._finished: ChoiceFinished | None = None
        self._closing: asyncio.Task[None] | None = None
        self._events = self._answer()

    def __aiter__(self) -> AsyncIterator[ChoiceEvent]:
        return self._events

    @property
    def usage(self) -> Usage:
        """Tokens so far; all of them, once the iteration has ended."""
        return Usage(
            prompt_tokens=self.accept.prompt_tokens,
            completion_tokens=self._reader.tokens if self._emitted is None else self._emitted,
            cached_tokens=self.accept.cached_tokens,
            reasoning_tokens=self._reader.reasoning_tokens,
        )

    async def aclose(self) -> None:
        """Cancel if the answer has not ended, and return when the slot is free. Safe to call twice."""
        await self._events.aclose()
        if not self._over:  # nobody ever asked for an event, so the generator had nothing to clean up
            self._cancel()
        if self._closing is not None:
            await asyncio.shield(self._closing)

    # --- the answer --------------------------------------------------------------------------------------------------

    async def _answer(self) -> AsyncGenerator[ChoiceEvent]:
        try:
            if self._view.known is not None:
                yield replace(self._view.known, choice=self._index)
            async for output in self._outputs:
                if isinstance(output, Echo):
                    self._echoes.append(output)
                if not isinstance(output, Data | Done):
                    continue
                if self._echoes:
                    yield await self._prompt()
                for delta in await self._token(output) if isinstance(output, Data) else self._complete(output):
                    self._check(delta)
                    yield delta
                if self._finished is not None:
                    self._check(self._finished)
                    yield self._finished
                    return
            raise EngineFailed("the engine's answer has no end", code=Code.ENGINE_PROTOCOL)
        except (asyncio.CancelledError, GeneratorExit):
            self._cancel()
            raise
        except BaseException:
            self._leave_behind(self._stream.aclose(), "failed")
            raise

    async def _prompt(self) -> PromptRead:
        echoes, self._echoes = self._echoes, []
        read = await read_back(self._view, echoes, self._desk.pieces, self._desk.info)
        return replace(read, choice=self._index)

    async def _token(self, data: Data) -> Sequence[Delta]:
        if data.payload:
            self._pace.output()
        if data.numeric is None or not data.numeric.top:
            deltas = self._reader.feed(data)
        else:
            deltas = self._reader.feed(data, await self._desk.pieces.alternatives(data))
        if self._reader.ended:
            await self._cut()
        return deltas

    async def _cut(self) -> None:
        """A stop matched: the client's answer ends here, and the engine's soon."""
        await self._stream.stop()
        self._finish(self._ending())
        self._leave_behind(self._drain(), "completed")

    def _complete(self, done: Done) -> Sequence[Delta]:
        """The engine has ended the answer; what was held back is certain now, or a stop after all."""
        deltas = self._reader.finish()
        limited = done.length_limited and not self._reader.ended
        self._emitted = done.emitted
        self._finish(FinishReason.LENGTH if limited else self._ending())
        self._over = True
        self._released("completed", self.usage)
        return deltas

    def _check(self, event: Delta | ChoiceFinished) -> None:
        if self._strict is not None:
            self._strict.check(event)

    def _ending(self) -> FinishReason:
        """Why an answer ended that the budget did not cut: for its calls only if they are whole, and nothing else was met (S57)."""
        reader = self._reader
        called = reader.calls > 0 and not reader.call_open and reader.stop is None
        return FinishReason.TOOL_CALLS if called else FinishReason.STOP

    def _finish(self, reason: FinishReason) -> None:
        self._finished = ChoiceFinished(
            choice=self._index, reason=reason, stop=self._reader.stop, generated=self.usage.completion_tokens
        )

    # --- the end -----------------------------------------------------------------------------------------------------

    def _cancel(self) -> None:
        if not self._over:
            self._leave_behind(self._stream.aclose(), "cancelled")

    def _leave_behind(self, wait: Coroutine[object, object, None], outcome: Outcome) -> None:
        """The answer is over for the client, but not yet for the engine."""
        if self._over:
            wait.close()
            return
        self._over = True
        self._closing = self._desk.spawn(self._release(wait, outcome, self.usage))

    async def _release(self, wait: Coroutine[object, object, None], outcome: Outcome, usage: Usage) -> None:
        try:
            await wait
        except ServiceError as error:
            logger.info("an answer that was over failed in the engine: %s", error.message)
        finally:
            self._released(outcome, usage)

    async def _drain(self) -> None:
        async for _ in self._outputs:
            pass


async def _first(outputs: AsyncIterator[EngineOutput]) -> Accept:
    """Wait for the engine's Accept, however long the engine takes: its client keeps the deadlines (seeds.md 1.0.1)."""
    try:
        first = await anext(outputs)
    except StopAsyncIteration:
        raise EngineFailed("the engine ended the request without a word", code=Code.ENGINE_PROTOCOL) from None
    if not isinstance(first, Accept):
        raise EngineFailed("the engine began to answer before it accepted", code=Code.ENGINE_PROTOCOL)
    return first


async def _let_go(stream: EngineStream | None, pixels: Pixels, released: Released, outcome: Outcome) -> None:
    """The sequence ended before it was accepted."""
    try:
        if stream is not None:
            await stream.aclose()
    finally:
        pixels.release()
        released(outcome, Usage(prompt_tokens=0, completion_tokens=0))
