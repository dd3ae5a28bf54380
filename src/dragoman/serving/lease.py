"""One request's hold on the engine, from admission until the engine has let go of all of it. Counts how it ended, once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dragoman.core.events import Usage
from dragoman.core.observer import Observer, Outcome, Phase
from dragoman.protocol.frames import Accept
from dragoman.serving.gate import Gate, Pass


@dataclass(slots=True)
class Tally:
    """Requests that had a slot and ended, since the start (S11)."""

    completed: int = 0
    failed: int = 0


class Lease:
    """Made when the slot was got, and just before the engine is called. ``arrived``: the clock's time when the request came."""

    def __init__(
        self,
        *,
        gate: Gate,
        admitted: Pass,
        surface: str,
        arrived: float,
        tally: Tally,
        clock: Callable[[], float],
        observer: Observer,
    ) -> None:
        self.slot = admitted.slot
        self.waited = admitted.waited
        self.gate = gate
        self._surface = surface
        self._arrived = arrived
        self._tally = tally
        self._clock = clock
        self._observer = observer
        self._began = clock()
        self._phase: Phase = "prefill"
        self._cancelled = False
        self._ended = False

    def accepted(self, accept: Accept) -> None:
        """The engine took a prompt; further answers to the same one are not told."""
        self._observer.accepted(
            surface=self._surface,
            prompt_tokens=accept.prompt_tokens,
            cached_tokens=accept.cached_tokens,
            miss=accept.miss,
        )

    def pace(self) -> Pace:
        """What times the outputs of one sequence."""
        return Pace(self._output)

    def cancelled(self) -> None:
        """The client left; the slot stays held until ``end``. Only the first call counts."""
        if not self._cancelled:
            self._cancelled = True
            self._observer.cancelled(self._phase)

    def end(self, outcome: Outcome, usage: Usage | None = None) -> None:
        """The engine is done with the request: free the slot. Only the first call counts."""
        if self._ended:
            return
        self._ended = True
        if outcome == "completed":
            self._tally.completed += 1
        elif outcome == "failed":
            self._tally.failed += 1
        seconds = self._clock() - self._began
        self._observer.finished(
            outcome, surface=self._surface, usage=usage, engine_seconds=seconds, slot_seconds=seconds
        )
        self.gate.leave(self.slot)

    def _output(self, before: float | None) -> float:
        """An output that is not empty; ``before`` is the time of the sequence's last one (S148)."""
        now = self._clock()
        if before is not None:
            self._observer.token_gap(surface=self._surface, seconds=now - before)
        elif self._phase == "prefill":
            self._phase = "decode"
            self._observer.first_output(after=now - self._began)
            self._observer.first_token(surface=self._surface, after=now - self._arrived)
        return now


class Pace:
    """The rhythm of one sequence."""

    __slots__ = ("_last", "_output")

    def __init__(self, output: Callable[[float | None], float]) -> None:
        self._output = output
        self._last: float | None = None

    def output(self) -> None:
        """The engine wrote something that is not empty."""
        self._last = self._output(self._last)
