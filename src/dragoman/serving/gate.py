"""Lets requests wait for a slot: the event loop's side of ``scheduler.admission``, which holds all the rules."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dragoman.core.errors import Code, InvalidRequest, Overloaded
from dragoman.core.observer import Observer
from dragoman.scheduler.admission import Admission, Admitted, Decision, Refused, Verdict

RETRY_AFTER: Final = 1
"""Seconds after which a refused client may try again (S12, S128)."""


@dataclass(frozen=True, slots=True)
class Pass:
    """Permission to use ``slot``, got after ``waited`` seconds."""

    slot: int
    waited: float


class Gate:
    """Admits requests to ``slots`` slots; ``clock`` gives monotonic seconds and must keep pace with the loop's timers."""

    def __init__(
        self,
        *,
        slots: int,
        max_queue: int,
        queue_timeout: float,
        clock: Callable[[], float],
        observer: Observer,
    ) -> None:
        self.rejected = 0
        self._admission = Admission(slots=slots, max_queue=max_queue, timeout=queue_timeout)
        self._clock = clock
        self._observer = observer
        self._waiting: dict[object, asyncio.Future[Decision]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._borrowers: deque[asyncio.Future[int]] = deque()

    @property
    def slots(self) -> int:
        """Slots in all."""
        return self._admission.slots

    @property
    def active(self) -> int:
        """Slots that are held: those that were borrowed, too."""
        return self._admission.active

    @property
    def queued(self) -> int:
        """Requests that wait for one."""
        return self._admission.queued

    async def enter(self, pin: int | None = None, *, queued: Callable[[], None] | None = None) -> Pass:
        """Wait for a slot. Raises ``Overloaded`` when the queue is full, too slow or closed (S128); ``queued`` is called if it is not full.

        ``pin`` insists on one slot; raises ``InvalidRequest`` naming ``cache_slot`` if there is none of that number (S133).
        """
        if pin is not None and not 0 <= pin < self.slots:
            raise InvalidRequest(
                f"cache_slot {pin} does not exist: there are slots 0 to {self.slots - 1}",
                code=Code.INVALID_VALUE,
                feature="cache_slot",
            )
        ticket = object()
        future: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._waiting[ticket] = future
        self._apply(self._admission.enter(ticket, now=self._clock(), pin=pin))
        if queued is not None and not (future.done() and isinstance(future.result(), Refused)):
            queued()
        try:
            decision = await future
        except asyncio.CancelledError:
            self._give_up(ticket, future)
            raise
        finally:
            del self._waiting[ticket]
        if isinstance(decision, Refused):
            raise self._refusal(decision.verdict)
        self._observer.admitted(waited=decision.waited)
        return Pass(decision.slot, decision.waited)

    async def borrow(self) -> int:
        """Wait for a slot that nobody else waits for: for more of a request that has been admitted already (S103).

        Who borrows looks at ``queued`` between two pieces of work, and gives the slot back if anybody waits.
        """
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._borrowers.append(future)
        self._apply(())
        try:
            return await future
        except asyncio.CancelledError:
            if future.cancelled():
                self._borrowers.remove(future)
            else:
                self.leave(future.result())
            raise

    def leave(self, slot: int) -> None:
        """Give a slot back."""
        self._apply(self._admission.release(slot, now=self._clock()))

    def close(self) -> None:
        """Refuse everybody who waits or comes, with ``shutting_down``."""
        self._apply(self._admission.close())

    def _give_up(self, ticket: object, future: asyncio.Future[Decision]) -> None:
        """The client left the queue; a slot that it was given meanwhile is not counted as an admission (S132)."""
        if future.cancelled():
            self._apply(self._admission.leave(ticket, now=self._clock()))
        elif isinstance(decision := future.result(), Admitted):
            self.leave(decision.slot)
        else:
            self._refusal(decision.verdict)
            return
        self._observer.cancelled("queue")

    def _apply(self, decisions: tuple[Decision, ...]) -> None:
        todo = list(decisions)
        for decision in todo:
            future = self._waiting.get(decision.ticket)
            if future is not None and not future.done():
                future.set_result(decision)
            elif isinstance(decision, Admitted):  # it was cancelled, but has not run yet to say so
                todo += self._admission.release(decision.slot, now=self._clock())
        self._lend()
        self._observer.queue_changed(active=self.active, queued=self.queued)
        self._arm()

    def _lend(self) -> None:
        for future in tuple(self._borrowers):
            if future.done():
                continue  # it was cancelled, but has not run yet to say so
            slot = self._admission.spare()
            if slot is None:
                return
            self._borrowers.remove(future)
            future.set_result(slot)

    def _arm(self) -> None:
        deadline = self._admission.next_deadline
        if deadline is not None and self._timer is None:
            delay = max(0.0, deadline - self._clock())
            self._timer = asyncio.get_running_loop().call_later(delay, self._on_time)
        elif deadline is None and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_time(self) -> None:
        self._timer = None
        self._apply(self._admission.advance(self._clock()))

    def _refusal(self, verdict: Verdict) -> Overloaded:
        match verdict:
            case Verdict.QUEUE_FULL:
                self.rejected += 1
                self._observer.rejected()
                message, code = "the queue is full", Code.QUEUE_FULL
            case Verdict.QUEUE_TIMEOUT:
                self._observer.timed_out()
                message, code = "no slot became free in time", Code.QUEUE_TIMEOUT
            case _:
                message, code = "the server is shutting down", Code.SHUTTING_DOWN
        return Overloaded(message, code=code, retry_after=RETRY_AFTER)
