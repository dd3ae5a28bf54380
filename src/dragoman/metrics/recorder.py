"""Hears what the service does and moves the numbers (``core.observer.Observer``).

What is counted is the gateway's view (S149): a wait begins when a request is parsed, and an engine call lasts until the
engine has let go of the request. Requests refused before admission (no key, a bad field) are in no number here. Labels
hold surfaces, the model's name, phases, outcomes and reasons; never a prompt, a path or an id (S145).
"""

from __future__ import annotations

from collections.abc import Sequence

from dragoman import __version__
from dragoman.core.events import Usage
from dragoman.core.observer import Outcome, Phase
from dragoman.metrics.instruments import Instruments
from dragoman.metrics.scheduling import Scheduling
from dragoman.metrics.traffic import Traffic


class Metrics:
    """One server's numbers. ``model`` is the id under which it is served, ``surfaces`` the wire formats that ask it."""

    def __init__(self, *, max_queue: int, model: str, surfaces: Sequence[str] = ()) -> None:
        instruments = Instruments()
        self.registry = instruments.registry
        self._instruments = instruments
        self._scheduling = Scheduling(instruments, max_queue=max_queue)
        self._traffic = Traffic(instruments, model=model, surfaces=surfaces)
        build = instruments.gauge("build_info", "Always 1; what runs is in the labels.", labels=("version", "model"))
        build.labels(__version__, model).set(1)

    def exposition(self) -> tuple[bytes, str]:
        """The text of all numbers, and its content type (format 0.0.4). Asks nobody and takes no slot (S145)."""
        return self._instruments.exposition()

    # --- Observer --------------------------------------------------------------------------------------------------

    def configured(self, *, slots: int) -> None:
        """The engine has this many slots."""
        self._scheduling.capacity.set(slots)

    def queue_changed(self, *, active: int, queued: int) -> None:
        """Slots that are held, and requests that wait for one."""
        self._scheduling.active.set(active)
        self._scheduling.queued.set(queued)

    def admitted(self, *, waited: float) -> None:
        """A request got its slot."""
        self._scheduling.admitted.inc()
        self._scheduling.queue_wait.observe(waited)

    def rejected(self) -> None:
        """The queue was full."""
        self._scheduling.rejected.inc()

    def timed_out(self) -> None:
        """A request waited too long for a slot."""
        self._scheduling.timed_out.inc()

    def cancelled(self, phase: Phase) -> None:
        """A client went away."""
        self._scheduling.cancelled.inc()
        self._scheduling.cancelled_in[phase].inc()

    def accepted(self, *, surface: str, prompt_tokens: int, cached_tokens: int, miss: str) -> None:
        """The engine took a sequence."""
        traffic = self._traffic.of(surface)
        traffic.prompt_tokens.inc(prompt_tokens)
        traffic.cached_tokens.inc(cached_tokens)
        if miss:
            traffic.missed(miss)

    def first_token(self, *, surface: str, after: float) -> None:
        """The first text of a request."""
        self._traffic.of(surface).first_token.observe(after)

    def token_gap(self, *, surface: str, seconds: float) -> None:
        """The time between two outputs of one sequence; called for each token, so nothing is looked up by label."""
        self._traffic.of(surface).token_gap.observe(seconds)

    def first_output(self, *, after: float) -> None:
        """The first non-empty output of a request."""
        self._scheduling.first_output.observe(after)

    def finished(
        self, outcome: Outcome, *, surface: str, usage: Usage | None, engine_seconds: float, slot_seconds: float
    ) -> None:
        """A request that had a slot has ended."""
        traffic = self._traffic.of(surface)
        self._scheduling.ended(outcome)
        self._scheduling.engine_call.observe(engine_seconds)
        self._scheduling.slot_duration.observe(slot_seconds)
        traffic.requests[outcome].inc()
        if usage is not None:
            traffic.completion_tokens.inc(usage.completion_tokens)
            traffic.answer.observe(usage.completion_tokens)

    def engine_restarted(self) -> None:
        """The engine died and was started again."""
        self._scheduling.restarts.inc()
