"""Requests and their slots, as S146 to S148 count them: one server's view, not told apart by surface."""

from __future__ import annotations

from typing import Final, assert_never, get_args

from prometheus_client import Histogram

from dragoman.core.observer import Outcome, Phase
from dragoman.metrics.instruments import Instruments

SECONDS: Final = (0.001, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300)
"""Bounds that S148 gives to all four histograms."""


class Scheduling:
    """The numbers, each under the name of what it counts."""

    def __init__(self, instruments: Instruments, *, max_queue: int) -> None:
        gauge, counter = instruments.gauge, instruments.counter
        self.active = gauge("scheduler_active", "Slots that are held.")
        self.queued = gauge("scheduler_queued", "Requests that wait for a slot.")
        self.capacity = gauge("scheduler_capacity", "Slots; 0 until the model is loaded.")
        gauge("scheduler_max_queue", "Requests that may wait for a slot.").set(max_queue)

        self.admitted = counter("scheduler_admitted", "Requests that got a slot.")
        self.rejected = counter("scheduler_rejected", "Requests refused because the queue was full.")
        self.timed_out = counter("scheduler_timed_out", "Requests that waited too long for a slot.")
        self.completed = counter("scheduler_completed", "Requests whose answer was made to its end.")
        self.failed = counter("scheduler_failed", "Requests that failed after admission; no client's departure.")
        self.cancelled = counter("scheduler_cancelled", "Requests whose client left, in any phase.")
        phases = counter("cancellations", "Requests whose client left, by what was being done.", labels=("phase",))
        self.cancelled_in = {phase: phases.labels(phase) for phase in get_args(Phase)}
        self.restarts = counter("engine_restarts", "Times that the engine died and was started again.")

        def histogram(name: str, documentation: str) -> Histogram:
            return instruments.histogram(f"scheduler_{name}_seconds", documentation, buckets=SECONDS)

        self.queue_wait = histogram("queue_wait", "Wait of admitted requests for their slot.")
        self.slot_duration = histogram("slot_duration", "Time that a request held its slot.")
        self.first_output = histogram("first_output", "From the engine call to its first output that is not empty.")
        self.engine_call = histogram("engine_call", "Engine calls that ended, however.")

    def ended(self, outcome: Outcome) -> None:
        """A request that had a slot has ended; one whose client left was counted when that happened (S147)."""
        match outcome:
            case "completed":
                self.completed.inc()
            case "failed":
                self.failed.inc()
            case "cancelled":
                pass
            case _:
                assert_never(outcome)
