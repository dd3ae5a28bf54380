"""An accepted answer as one stream of events, whether it is one sequence or many."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Protocol

from dragoman.core.events import Accepted, ChoiceFinished, Finished, GenerationEvent
from dragoman.serving.choice import Choice, Released
from dragoman.serving.lease import Lease


class Generation(Protocol):
    """Iterate once, in one task, for the events; close it in that task whatever happens.

    Iteration raises ``ServiceError`` in place of ``Finished`` where the engine failed.
    """

    @property
    def accepted(self) -> Accepted:
        """The first event."""
        ...

    @property
    def queue_wait(self) -> float:
        """Seconds that the request waited for its slot."""
        ...

    @property
    def repairs(self) -> tuple[str, ...]:
        """What had to be changed in the conversation before the model's template could write it."""
        ...

    def __aiter__(self) -> AsyncIterator[GenerationEvent]:
        """The events, in the order that ``core.events`` states."""
        ...

    async def aclose(self) -> None:
        """Cancel what has not ended, and return when every slot is free. Safe to call twice."""
        ...


class Single:
    """The answer that is one sequence: its choice between ``Accepted`` and ``Finished``."""

    def __init__(self, choice: Choice, lease: Lease, repairs: tuple[str, ...]) -> None:
        self.repairs = repairs
        self.accepted = Accepted(prompt_tokens=choice.accept.prompt_tokens, cached_tokens=choice.accept.cached_tokens)
        self.queue_wait = lease.waited
        self._choice = choice
        self._lease = lease
        self._over = False
        self._events = self._answer()

    @classmethod
    async def start(
        cls, begin: Callable[[Released], Awaitable[Choice]], lease: Lease, repairs: tuple[str, ...]
    ) -> Single:
        """Begin; returns when the engine has accepted. Raises ``ServiceError`` before that."""
        try:
            choice = await begin(lease.end)
        except asyncio.CancelledError:
            lease.cancelled()
            raise
        lease.accepted(choice.accept)
        return cls(choice, lease, repairs)

    def __aiter__(self) -> AsyncIterator[GenerationEvent]:
        return self._events

    async def aclose(self) -> None:
        """Cancel what has not ended, and return when the slot is free. Safe to call twice."""
        await self._events.aclose()
        if not self._over:  # nobody ever asked for an event
            self._leave()
        await self._choice.aclose()

    async def _answer(self) -> AsyncGenerator[GenerationEvent]:
        try:
            yield self.accepted
            async for event in self._choice:
                if isinstance(event, ChoiceFinished):
                    self._over = True  # who leaves from here on has heard the answer
                yield event
        except (asyncio.CancelledError, GeneratorExit):
            self._leave()
            raise
        except Exception:
            self._over = True  # it failed: nobody left
            raise
        yield Finished(usage=self._choice.usage)

    def _leave(self) -> None:
        if not self._over:
            self._over = True
            self._lease.cancelled()
