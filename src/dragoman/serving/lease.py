"""One request's hold on a slot, from admission until the engine has let go of it. Counts how it ended, once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dragoman.core.events import Accepted, Usage
from dragoman.core.observer import Observer, Outcome, Phase
from dragoman.serving.gate import Gate, Pass


@dataclass(slots=True)
class Tally:
    """Requests that had a slot and ended, since the start (S11)."""

    completed: int = 0
    failed: int = 0


class Lease:
    """Made when the slot was got, and just before the engine is called."""

    def __init__(
        self,
        *,
        gate: Gate,
        admitted: Pass,
        surface: str,
        tally: Tally,
        clock: Callable[[], float],
        observer: Observer,
    ) -> None:
        self.slot = admitted.slot
        self.waited = admitted.waited
        self._gate = gate
        self._surface = surface
        self._tally = tally
        self._clock = clock
        self._observer = observer
        self._began = clock()
        self._phase: Phase = "prefill"
        self._ended = False

    def accepted(self, accepted: Accepted) -> None:
        """The engine took the request."""
        self._observer.accepted(
            surface=self._surface, prompt_tokens=accepted.prompt_tokens, cached_tokens=accepted.cached_tokens, miss=""
        )

    def output(self) -> None:
        """The engine wrote something that is not empty; only the first time counts (S148)."""
        if self._phase == "prefill":
            self._phase = "decode"
            self._observer.first_output(after=self._clock() - self._began)

    def cancelled(self) -> None:
        """The client left; the slot stays held until ``end``."""
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
        self._gate.leave(self.slot)
