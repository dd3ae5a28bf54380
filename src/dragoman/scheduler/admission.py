"""Who gets a slot next: a bounded first-in, first-out queue whose members may insist on one slot.

A slot is one sequence that the engine runs. A ticket enters, and is admitted, queued or refused at once; a queued ticket is
decided later, when a slot is released, a ticket leaves or time passes. Nothing here waits or reads a clock: every
call takes ``now`` and returns the decisions that it caused, in the order of the queue.

Two tables hold the rules (S128 to S132). Each is read from the top and the first row that fits decides.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias


class Verdict(StrEnum):
    """What can be said of a ticket."""

    ADMIT = "admit"
    WAIT = "wait"
    CLOSED = "closed"
    QUEUE_FULL = "queue_full"
    QUEUE_TIMEOUT = "queue_timeout"
    CANCELLED = "cancelled"


Flag: TypeAlias = "bool | None"
"""A column of a table: a fact that must hold, must not hold, or does not matter (None)."""

ARRIVAL: Final[tuple[tuple[Flag, Flag, Flag, Flag, Verdict], ...]] = (
    # closed, fits, room, cancelled
    (True, None, None, None, Verdict.CLOSED),
    (False, False, False, None, Verdict.QUEUE_FULL),  # before ``cancelled``, so that a full queue always counts (S132)
    (False, None, None, True, Verdict.CANCELLED),
    (False, True, None, False, Verdict.ADMIT),  # a full queue does not refuse what can start now (S131)
    (False, False, True, False, Verdict.WAIT),
)
"""A ticket arrives. ``fits``: a slot that it may use is free and no earlier ticket waits for it."""

TURN: Final[tuple[tuple[Flag, Flag, Verdict], ...]] = (
    # expired, fits
    (True, None, Verdict.QUEUE_TIMEOUT),  # even though a slot is free by now (S130)
    (False, True, Verdict.ADMIT),
    (False, False, Verdict.WAIT),
)
"""A queued ticket is looked at again."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """The ticket holds ``slot`` until it is released, after it ``waited`` seconds."""

    ticket: Hashable
    slot: int
    waited: float


@dataclass(frozen=True, slots=True)
class Refused:
    """The ticket is out; ``verdict`` is neither ``ADMIT`` nor ``WAIT``."""

    ticket: Hashable
    verdict: Verdict


Decision: TypeAlias = Admitted | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiter:
    ticket: Hashable
    pin: int | None
    since: float


class Admission:
    """The queue in front of ``slots`` slots. ``timeout`` is the longest wait in seconds (S128).

    Tickets are any hashable values, unique among those that wait. Raises ``ValueError`` for a ticket that waits already,
    for a slot that does not exist, and for the release of a slot that is free.
    """

    def __init__(self, *, slots: int, max_queue: int, timeout: float) -> None:
        self.slots = slots
        self.max_queue = max_queue
        self._timeout = timeout
        self._closed = False
        self._free = set(range(slots))
        self._waiting: dict[Hashable, _Waiter] = {}

    @property
    def active(self) -> int:
        """Slots that are held."""
        return self.slots - len(self._free)

    @property
    def queued(self) -> int:
        """Tickets that wait."""
        return len(self._waiting)

    @property
    def next_deadline(self) -> float | None:
        """When ``advance`` should be called at the latest; None while nobody waits."""
        first = next(iter(self._waiting.values()), None)  # one timeout for all: the oldest expires first
        return None if first is None else first.since + self._timeout

    def enter(
        self, ticket: Hashable, *, now: float, pin: int | None = None, cancelled: bool = False
    ) -> tuple[Decision, ...]:
        """A ticket arrives; it waits if no decision names it. ``pin`` is the only slot that it would take."""
        if ticket in self._waiting:
            raise ValueError(f"ticket {ticket!r} waits already")
        if pin is not None and not 0 <= pin < self.slots:
            raise ValueError(f"slot {pin} does not exist")
        earlier = self.advance(now)
        slot = self._choose(pin, self._reserved())
        verdict = on_arrival(
            closed=self._closed,
            fits=slot is not None,
            room=len(self._waiting) < self.max_queue,
            cancelled=cancelled,
        )
        if verdict is Verdict.WAIT:
            self._waiting[ticket] = _Waiter(ticket=ticket, pin=pin, since=now)
            return earlier
        if verdict is Verdict.ADMIT and slot is not None:
            self._free.discard(slot)
            return (*earlier, Admitted(ticket, slot, 0.0))
        return (*earlier, Refused(ticket, verdict))

    def spare(self) -> int | None:
        """Take a free slot if nobody waits for any; it must be released like every other."""
        if self._waiting or not self._free:
            return None
        slot = min(self._free)
        self._free.discard(slot)
        return slot

    def leave(self, ticket: Hashable, *, now: float) -> tuple[Decision, ...]:
        """A waiting ticket gives up; no effect if it does not wait."""
        if self._waiting.pop(ticket, None) is None:
            return ()
        return (Refused(ticket, Verdict.CANCELLED), *self.advance(now))

    def release(self, slot: int, *, now: float) -> tuple[Decision, ...]:
        """A slot is free again."""
        if slot in self._free or not 0 <= slot < self.slots:
            raise ValueError(f"slot {slot} is not held")
        self._free.add(slot)
        return self.advance(now)

    def advance(self, now: float) -> tuple[Decision, ...]:
        """Look at every waiting ticket once, oldest first."""
        decisions: list[Decision] = []
        reserved: set[int] = set()
        for waiter in tuple(self._waiting.values()):
            expired = now >= waiter.since + self._timeout
            if not expired and self._free <= reserved:
                break  # who came later is not due either, and nothing is left to take
            slot = self._choose(waiter.pin, reserved)
            match on_turn(expired=expired, fits=slot is not None):
                case Verdict.ADMIT if slot is not None:
                    self._free.discard(slot)
                    decisions.append(Admitted(waiter.ticket, slot, now - waiter.since))
                case Verdict.QUEUE_TIMEOUT as verdict:
                    decisions.append(Refused(waiter.ticket, verdict))
                case _:
                    reserved |= self._claim(waiter)
                    continue
            del self._waiting[waiter.ticket]
        return tuple(decisions)

    def close(self) -> tuple[Decision, ...]:
        """Refuse everybody who waits or comes; held slots stay held."""
        self._closed = True
        refused = tuple(Refused(ticket, Verdict.CLOSED) for ticket in self._waiting)
        self._waiting.clear()
        return refused

    def _choose(self, pin: int | None, reserved: set[int]) -> int | None:
        open_slots = self._free - reserved
        if pin is not None:
            return pin if pin in open_slots else None
        return min(open_slots, default=None)

    def _reserved(self) -> set[int]:
        reserved: set[int] = set()
        for waiter in self._waiting.values():
            if self._free <= reserved:
                break
            reserved |= self._claim(waiter)
        return reserved

    def _claim(self, waiter: _Waiter) -> set[int]:
        """The slots that nobody later may take: its target, or all of them (S131)."""
        return set(range(self.slots)) if waiter.pin is None else {waiter.pin}


def on_arrival(*, closed: bool, fits: bool, room: bool, cancelled: bool) -> Verdict:
    """The row of ``ARRIVAL`` that fits."""
    facts = (closed, fits, room, cancelled)
    return next(row[-1] for row in ARRIVAL if _fits(row[:-1], facts))


def on_turn(*, expired: bool, fits: bool) -> Verdict:
    """The row of ``TURN`` that fits."""
    return next(row[-1] for row in TURN if _fits(row[:-1], (expired, fits)))


def _fits(wanted: tuple[Flag, ...], facts: tuple[bool, ...]) -> bool:
    return all(want is None or want == fact for want, fact in zip(wanted, facts, strict=True))
