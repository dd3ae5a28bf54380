"""An observer that writes down what it was told, in order."""

from __future__ import annotations

from dragoman.core.events import Usage
from dragoman.core.observer import Outcome, Phase


class Diary:
    """``events`` holds everything but changes of the queue, of which only the last is kept in ``load``."""

    def __init__(self) -> None:
        self.events: list[tuple[object, ...]] = []
        self.load = (0, 0)

    def of(self, kind: str) -> list[tuple[object, ...]]:
        return [event[1:] for event in self.events if event[0] == kind]

    def configured(self, *, slots: int) -> None:
        self.events.append(("configured", slots))

    def queue_changed(self, *, active: int, queued: int) -> None:
        self.load = (active, queued)

    def admitted(self, *, waited: float) -> None:
        self.events.append(("admitted", waited))

    def rejected(self) -> None:
        self.events.append(("rejected",))

    def timed_out(self) -> None:
        self.events.append(("timed_out",))

    def cancelled(self, phase: Phase) -> None:
        self.events.append(("cancelled", phase))

    def accepted(self, *, surface: str, prompt_tokens: int, cached_tokens: int, miss: str) -> None:
        self.events.append(("accepted", surface, prompt_tokens, cached_tokens, miss))

    def first_token(self, *, surface: str, after: float) -> None:
        self.events.append(("first_token", surface, after))

    def token_gap(self, *, surface: str, seconds: float) -> None:
        self.events.append(("token_gap", surface, seconds))

    def first_output(self, *, after: float) -> None:
        self.events.append(("first_output", after))

    def finished(
        self, outcome: Outcome, *, surface: str, usage: Usage | None, engine_seconds: float, slot_seconds: float
    ) -> None:
        self.events.append(("finished", outcome, surface, usage, engine_seconds, slot_seconds))

    def engine_restarted(self) -> None:
        self.events.append(("engine_restarted",))
