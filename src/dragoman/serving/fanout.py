"""An answer that is several sequences: ``n`` choices, or a batch of prompts, on as many slots as nobody else waits for.

One admission gives the request one slot, which works on part after part (S103). Slots that are idle join in, and go back between two
parts as soon as somebody waits. The parts' events are passed on in the order in which they come about. If one part fails, the
others are cancelled and the answer fails with it (S98).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Final, TypeAlias

from dragoman.core.errors import Code, Internal, ServiceError
from dragoman.core.events import Accepted, ChoiceFinished, Finished, GenerationEvent, PromptRead, Usage
from dragoman.core.observer import Outcome
from dragoman.serving.attribution import attributed
from dragoman.serving.choice import Choice, ChoiceEvent, Released, Spawn
from dragoman.serving.lease import Lease
from dragoman.serving.parts import Part

logger = logging.getLogger(__name__)

Begin: TypeAlias = Callable[[Part, int, PromptRead | None, Released], Awaitable[Choice]]
"""Starts a part on a slot. The third argument is what the client may see of its prompt, where another part has read it."""

_NOTHING: Final = Usage(prompt_tokens=0, completion_tokens=0)


class Fanout:
    """A ``Generation`` of several parts. ``await start()`` first; it returns when the engine has accepted one of them."""

    def __init__(
        self,
        *,
        parts: tuple[Part, ...],
        begin: Begin,
        lease: Lease,
        spawn: Spawn,
        pinned: bool,
        repairs: tuple[str, ...],
    ) -> None:
        self.repairs = repairs
        self.accepted = Accepted(prompt_tokens=0)
        self.queue_wait = lease.waited
        self._parts = deque(parts)
        self._open = len(parts)
        self._batch = parts[-1].prompt > 0
        # Answers to one prompt that is read out wait until the first of them has read it.
        self._reading = any(part.fork for part in parts) and parts[0].request.echo is not None
        self._shared: PromptRead | None = None
        self._begin = begin
        self._lease = lease
        self._spawn = spawn
        self._pinned = pinned
        self._outcome: Outcome = "completed"
        self._usage = _NOTHING
        self._tasks: set[asyncio.Task[None]] = set()
        self._borrower: asyncio.Task[None] | None = None
        self._news: asyncio.Queue[ChoiceEvent | ServiceError] = asyncio.Queue()
        self._first: asyncio.Future[Accepted] = asyncio.get_running_loop().create_future()
        self._ended = asyncio.Event()
        self._events = self._answer()

    async def start(self) -> None:
        """Begin. Raises the ``ServiceError`` of a part that failed before any was accepted."""
        self._work_on(self._work(self._lease.slot))
        self._lend()
        try:
            self.accepted = await self._first
        except BaseException as error:
            self._end("cancelled" if isinstance(error, asyncio.CancelledError) else "failed")
            raise

    def __aiter__(self) -> AsyncIterator[GenerationEvent]:
        return self._events

    async def aclose(self) -> None:
        """Cancel what has not ended, and return when every slot is free. Safe to call twice."""
        await self._events.aclose()
        if self._open:
            self._end("cancelled")
        await self._ended.wait()

    async def _answer(self) -> AsyncGenerator[GenerationEvent]:
        yield self.accepted
        while self._open:
            news = await self._news.get()
            if isinstance(news, ServiceError):
                self._end("failed")
                raise news
            if isinstance(news, ChoiceFinished):
                self._open -= 1
            yield news
        yield Finished(usage=self._usage)

    # --- work --------------------------------------------------------------------------------------------------------

    async def _work(self, slot: int) -> None:
        """Do part after part on the request's own slot."""
        while (part := self._next()) is not None:
            await self._do(part, slot)

    async def _help(self) -> None:
        """Do parts on a slot that is idle, for as long as nobody waits for it."""
        gate = self._lease.gate
        slot = await gate.borrow()
        self._borrower = None
        try:
            self._lend()
            while not gate.queued and (part := self._next()) is not None:
                await self._do(part, slot)
        finally:
            gate.leave(slot)

    def _lend(self) -> None:
        """Look for one more slot; whoever gets it looks for the next."""
        if self._parts and not self._pinned and not self._reading and self._borrower is None:
            self._borrower = self._work_on(self._help())

    def _next(self) -> Part | None:
        part = self._parts.popleft() if self._parts else None
        if not self._parts:
            self._borrow_no_more()
        return part

    def _borrow_no_more(self) -> None:
        if self._borrower is not None:
            self._borrower.cancel()
            self._borrower = None

    async def _do(self, part: Part, slot: int) -> None:
        free = asyncio.Event()

        def released(outcome: Outcome, usage: Usage) -> None:
            if outcome != "completed":
                self._add_answer(usage)
            free.set()

        try:
            choice = await self._begin(part, slot, self._shared, released)
            try:
                self._note(part, choice)
                async for event in choice:
                    self._pass_on(event, choice)
            finally:
                await choice.aclose()
        except ServiceError as error:
            self._fail(attributed(error, part.prompt) if self._batch else error)
        finally:
            await _surely(free)  # only then may the slot be used again

    def _note(self, part: Part, choice: Choice) -> None:
        accept = choice.accept
        if not part.fork:
            self._lease.accepted(accept)
            self._add(
                Usage(prompt_tokens=accept.prompt_tokens, completion_tokens=0, cached_tokens=accept.cached_tokens)
            )
        if not self._first.done():
            self._first.set_result(Accepted(prompt_tokens=accept.prompt_tokens, cached_tokens=accept.cached_tokens))

    def _pass_on(self, event: ChoiceEvent, choice: Choice) -> None:
        if isinstance(event, PromptRead) and self._reading:
            self._shared, self._reading = event, False
            self._lend()
        if isinstance(event, ChoiceFinished):
            self._add_answer(choice.usage)
        self._news.put_nowait(event)

    def _add_answer(self, cost: Usage) -> None:
        self._add(
            Usage(
                prompt_tokens=0,
                completion_tokens=cost.completion_tokens,
                reasoning_tokens=cost.reasoning_tokens,
            )
        )

    def _add(self, more: Usage) -> None:
        """Each prompt is counted once, and each answer."""
        self._usage = self._usage + more

    # --- the end -----------------------------------------------------------------------------------------------------

    def _fail(self, error: ServiceError) -> None:
        self._parts.clear()
        self._borrow_no_more()
        if not self._first.done():
            self._first.set_exception(error)
        self._news.put_nowait(error)

    def _end(self, outcome: Outcome) -> None:
        """The answer is over before its time: stop all work."""
        if self._outcome != "completed":
            return
        self._outcome = outcome
        if outcome == "cancelled":
            self._lease.cancelled()
        self._parts.clear()
        for task in self._tasks:
            task.cancel()

    def _work_on(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = self._spawn(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (bug := task.exception()) is not None:
            logger.error("a part of a request failed by our own mistake", exc_info=bug)
            self._fail(Internal("the server failed by its own mistake", code=Code.INTERNAL))
        if not self._tasks:
            self._ended.set()
            self._lease.end(self._outcome, self._usage)


async def _surely(event: asyncio.Event) -> None:
    """Wait for it even if cancelled: whoever cancels has taken the rest of the work away, too."""
    while not event.is_set():
        with suppress(asyncio.CancelledError):
            await event.wait()
