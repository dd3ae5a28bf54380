"""One accepted answer as a stream of events, and what becomes of its slot however the stream ends.

An answer ends in one of four ways: the engine says Done; a stop string matches (the engine is told to stop, and the
client hears at once); the engine fails it; or the consumer goes away. The slot is given back only when the engine's own
last frame has come (seeds.md 2.6, rule 3), so the second and the fourth way leave a task behind that waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Sequence
from typing import TypeAlias, assert_never

from dragoman.core.errors import Code, EngineFailed, ServiceError
from dragoman.core.events import (
    Accepted,
    ChoiceFinished,
    Finished,
    FinishReason,
    GenerationEvent,
    ReasoningDelta,
    TextDelta,
    Usage,
)
from dragoman.core.observer import Outcome
from dragoman.engines.base import EngineOutput, EngineStream
from dragoman.protocol.frames import Accept, Data, Done, Echo, Progress, Tool
from dragoman.serving.answer import AnswerReader
from dragoman.serving.lease import Lease

logger = logging.getLogger(__name__)

Spawn: TypeAlias = Callable[[Coroutine[object, object, None]], "asyncio.Task[None]"]
"""Starts a task that outlives the request, and keeps it from being collected."""


class Generation:
    """Iterate once, in one task, for the events; close it in that task whatever happens.

    Iteration raises ``ServiceError`` in place of ``Finished`` where the engine failed. ``queue_wait`` is in seconds.
    """

    def __init__(
        self,
        *,
        stream: EngineStream,
        outputs: AsyncIterator[EngineOutput],
        accepted: Accepted,
        reader: AnswerReader,
        lease: Lease,
        spawn: Spawn,
    ) -> None:
        self.accepted = accepted
        self.queue_wait = lease.waited
        self._stream = stream
        self._outputs = outputs
        self._reader = reader
        self._lease = lease
        self._spawn = spawn
        self._over = False
        self._ended: tuple[ChoiceFinished, Finished] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._events = self._answer()

    def __aiter__(self) -> AsyncIterator[GenerationEvent]:
        return self._events

    async def aclose(self) -> None:
        """Cancel if the answer has not ended, and return when the slot is free. Safe to call twice."""
        await self._events.aclose()
        if not self._over:  # nobody ever asked for an event, so the generator had nothing to clean up
            self._cancel()
        if self._closing is not None:
            await asyncio.shield(self._closing)

    async def _answer(self) -> AsyncGenerator[GenerationEvent]:
        try:
            yield self.accepted
            async for output in self._outputs:
                deltas: Sequence[TextDelta | ReasoningDelta] = ()
                match output:
                    case Data():
                        deltas = self._token(output)
                        if self._reader.ended:
                            await self._cut()
                    case Done():
                        deltas = self._complete(output)
                    case Accept() | Echo() | Tool() | Progress():
                        pass
                    case _:
                        assert_never(output)
                for delta in deltas:
                    yield delta
                if self._ended is not None:
                    for event in self._ended:
                        yield event
                    return
            raise EngineFailed("the engine's answer has no end", code=Code.ENGINE_PROTOCOL)
        except (asyncio.CancelledError, GeneratorExit):
            self._cancel()
            raise
        except BaseException:
            self._leave_behind(self._abort(), "failed")
            raise

    def _token(self, data: Data) -> Sequence[TextDelta | ReasoningDelta]:
        if data.payload:
            self._lease.output()
        return self._reader.feed(data)

    async def _cut(self) -> None:
        """A stop string matched: the client's answer ends here, and the engine's soon."""
        await self._stream.stop()
        usage = self._usage(self._reader.tokens)
        self._ended = (ChoiceFinished(reason=FinishReason.STOP, stop=self._reader.stop_sequence), Finished(usage=usage))
        self._leave_behind(self._drain(), "completed")

    def _complete(self, done: Done) -> Sequence[TextDelta | ReasoningDelta]:
        """The engine has ended the answer; what was held back is certain now, or a stop after all."""
        deltas = self._reader.finish()
        limited = done.length_limited and not self._reader.ended
        usage = self._usage(done.emitted)
        reason = FinishReason.LENGTH if limited else FinishReason.STOP
        self._ended = (ChoiceFinished(reason=reason, stop=self._reader.stop_sequence), Finished(usage=usage))
        self._over = True
        self._lease.end("completed", usage)
        return deltas

    def _usage(self, tokens: int) -> Usage:
        return Usage(
            prompt_tokens=self.accepted.prompt_tokens,
            completion_tokens=tokens,
            cached_tokens=self.accepted.cached_tokens,
        )

    def _cancel(self) -> None:
        if not self._over:
            self._lease.cancelled()
            self._leave_behind(self._abort(), "cancelled")

    def _leave_behind(self, wait: Coroutine[object, object, None], outcome: Outcome) -> None:
        """The answer is over for the client, but not yet for the engine."""
        if self._over:
            wait.close()
            return
        self._over = True
        self._closing = self._spawn(self._release(wait, outcome, self._usage(self._reader.tokens)))

    async def _release(self, wait: Coroutine[object, object, None], outcome: Outcome, usage: Usage) -> None:
        try:
            await wait
        except ServiceError as error:
            logger.info("an answer that was over failed in the engine: %s", error.message)
        finally:
            self._lease.end(outcome, usage)

    async def _drain(self) -> None:
        async for _ in self._outputs:
            pass

    async def _abort(self) -> None:
        await self._stream.aclose()
