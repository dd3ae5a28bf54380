"""What the service tells whoever counts. ``metrics`` implements it; ``NullObserver`` is the off switch.

Durations are seconds. Nothing here carries prompts, paths or request ids (S145).
"""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

from dragoman.core.events import Usage

Outcome: TypeAlias = Literal["completed", "failed", "cancelled"]
Phase: TypeAlias = Literal["queue", "prefill", "decode"]


class Observer(Protocol):
    """Counts and measures requests (S146 to S150)."""

    def configured(self, *, slots: int) -> None:
        """The engine has this many slots."""
        ...

    def queue_changed(self, *, active: int, queued: int) -> None:
        """Slots that are held (a request with several answers may hold several), and requests that wait for one."""
        ...

    def admitted(self, *, waited: float) -> None:
        """A request got its slot."""
        ...

    def rejected(self) -> None:
        """The queue was full."""
        ...

    def timed_out(self) -> None:
        """A request waited too long for a slot."""
        ...

    def cancelled(self, phase: Phase) -> None:
        """A client went away, and the request with it."""
        ...

    def accepted(self, *, surface: str, prompt_tokens: int, cached_tokens: int, miss: str) -> None:
        """The engine took a sequence. ``miss`` says why not more of its prompt was cached; empty where nothing was missing."""
        ...

    def first_token(self, *, surface: str, after: float) -> None:
        """The first text of a request came ``after`` the request did, its wait in the queue included."""
        ...

    def token_gap(self, *, surface: str, seconds: float) -> None:
        """Two outputs of one sequence came this far apart (inter-token latency)."""
        ...

    def first_output(self, *, after: float) -> None:
        """The first non-empty output of a request came ``after`` the engine call began."""
        ...

    def finished(
        self, outcome: Outcome, *, surface: str, usage: Usage | None, engine_seconds: float, slot_seconds: float
    ) -> None:
        """A request that had a slot has ended."""
        ...

    def engine_restarted(self) -> None:
        """The engine died and was started again."""
        ...


class NullObserver:
    """Counts nothing."""

    def configured(self, *, slots: int) -> None: ...
    def queue_changed(self, *, active: int, queued: int) -> None: ...
    def admitted(self, *, waited: float) -> None: ...
    def rejected(self) -> None: ...
    def timed_out(self) -> None: ...
    def cancelled(self, phase: Phase) -> None: ...
    def accepted(self, *, surface: str, prompt_tokens: int, cached_tokens: int, miss: str) -> None: ...
    def first_token(self, *, surface: str, after: float) -> None: ...
    def token_gap(self, *, surface: str, seconds: float) -> None: ...
    def first_output(self, *, after: float) -> None: ...
    def finished(
        self, outcome: Outcome, *, surface: str, usage: Usage | None, engine_seconds: float, slot_seconds: float
    ) -> None: ...
    def engine_restarted(self) -> None: ...
