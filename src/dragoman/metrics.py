"""The gateway's counters and histograms, in Prometheus' text format (S145 to S149). Implements ``core.observer.Observer``.

What is counted is the gateway's view: a wait begins when a request is parsed, and an engine call lasts until the engine
has let go of the request. Requests refused before admission (no key, a bad field) are in no number here. Labels hold
surfaces, phases and outcomes, never a prompt, a path or an id. Everything starts at zero with the process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from dragoman.core.events import Usage
from dragoman.core.observer import Outcome, Phase

BUCKETS: Final = (0.001, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300)
"""Seconds (S148); the library adds +Inf."""


class Metrics:
    """One server's numbers, in a registry of their own, so that two servers can live in one process.

    ``surfaces`` are the label values that appear from the start, at zero; others are added as they occur.
    """

    def __init__(self, *, max_queue: int, surfaces: Sequence[str] = ()) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        self._active = self._gauge("scheduler_active", "Requests that hold a slot.")
        self._queued = self._gauge("scheduler_queued", "Requests that wait for a slot.")
        self._capacity = self._gauge("scheduler_capacity", "Slots; 0 until the model is loaded.")
        self._gauge("scheduler_max_queue", "Requests that may wait for a slot.").set(max_queue)

        self._admitted = self._counter("scheduler_admitted", "Requests that got a slot.")
        self._rejected = self._counter("scheduler_rejected", "Requests refused because the queue was full.")
        self._timed_out = self._counter("scheduler_timed_out", "Requests that waited too long for a slot.")
        self._by_outcome: dict[Outcome, Counter] = {
            "completed": self._counter("scheduler_completed", "Requests whose answer was made to its end."),
            "failed": self._counter("scheduler_failed", "Requests that failed after admission; no client's departure."),
        }
        self._cancelled = self._counter("scheduler_cancelled", "Requests whose client left, in any phase.")
        self._phases = self._counter("cancellations", "Requests whose client left, by what was being done.", "phase")
        self._requests = self._counter("requests", "Requests that had a slot and ended.", "surface", "outcome")
        self._restarts = self._counter("engine_restarts", "Times that the engine died and was started again.")

        self._prompt_tokens = self._counter("prompt_tokens", "Tokens of accepted prompts, cached ones included.")
        self._cached_tokens = self._counter("cached_prompt_tokens", "Prompt tokens that were not computed again.")
        self._output_tokens = self._counter("completion_tokens", "Tokens generated for clients.")

        self._queue_wait = self._histogram("scheduler_queue_wait_seconds", "Wait of admitted requests for their slot.")
        self._slot = self._histogram("scheduler_slot_duration_seconds", "Time that a request held its slot.")
        self._first_output = self._histogram(
            "scheduler_first_output_seconds", "From the engine call to its first output that is not empty."
        )
        self._engine_call = self._histogram("scheduler_engine_call_seconds", "Engine calls that ended, however.")

        for phase in get_args(Phase):
            self._phases.labels(phase)
        for surface in surfaces:
            for outcome in get_args(Outcome):
                self._requests.labels(surface, outcome)

    def exposition(self) -> tuple[bytes, str]:
        """The text of all numbers, and its content type (format 0.0.4). Asks nobody and takes no slot (S145)."""
        return generate_latest(self.registry), CONTENT_TYPE_PLAIN_0_0_4

    # --- Observer --------------------------------------------------------------------------------------------------

    def configured(self, *, slots: int) -> None:
        """The engine has this many slots."""
        self._capacity.set(slots)

    def queue_changed(self, *, active: int, queued: int) -> None:
        """Requests that hold a slot, and that wait for one."""
        self._active.set(active)
        self._queued.set(queued)

    def admitted(self, *, waited: float) -> None:
        """A request got its slot."""
        self._admitted.inc()
        self._queue_wait.observe(waited)

    def rejected(self) -> None:
        """The queue was full."""
        self._rejected.inc()

    def timed_out(self) -> None:
        """A request waited too long for a slot."""
        self._timed_out.inc()

    def cancelled(self, phase: Phase) -> None:
        """A client went away."""
        self._cancelled.inc()
        self._phases.labels(phase).inc()

    def first_token(self, *, surface: str, after: float) -> None:
        """The first text of a request."""

    def token_gap(self, *, surface: str, seconds: float) -> None:
        """The time between two outputs of one sequence."""

    def accepted(self, *, surface: str, prompt_tokens: int, cached_tokens: int, miss: str) -> None:
        """The engine took a sequence."""
        self._prompt_tokens.inc(prompt_tokens)
        self._cached_tokens.inc(cached_tokens)

    def first_output(self, *, after: float) -> None:
        """The first non-empty output of a request."""
        self._first_output.observe(after)

    def finished(
        self, outcome: Outcome, *, surface: str, usage: Usage | None, engine_seconds: float, slot_seconds: float
    ) -> None:
        """A request that had a slot has ended."""
        if outcome in self._by_outcome:
            self._by_outcome[outcome].inc()
        self._requests.labels(surface, outcome).inc()
        if usage is not None:
            self._output_tokens.inc(usage.completion_tokens)
        self._engine_call.observe(engine_seconds)
        self._slot.observe(slot_seconds)

    def engine_restarted(self) -> None:
        """The engine died and was started again."""
        self._restarts.inc()

    # --- construction ----------------------------------------------------------------------------------------------

    def _gauge(self, name: str, documentation: str) -> Gauge:
        return Gauge(f"dragoman_{name}", documentation, registry=self.registry)

    def _counter(self, name: str, documentation: str, *labels: str) -> Counter:
        return Counter(f"dragoman_{name}_total", documentation, labels, registry=self.registry)

    def _histogram(self, name: str, documentation: str) -> Histogram:
        return Histogram(f"dragoman_{name}", documentation, buckets=BUCKETS, registry=self.registry)
