"""Whether something else ran on our cores while we measured: the system counts how often it took one from us, and what we got."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

PREEMPTIONS_PER_SECOND = 40
"""Even an idle machine takes a core from spinning threads now and then."""

UNDISTURBED_SHARE = 0.85
"""Part of the processor time of all threads that they get when nobody else wants it. A GPU's waiting host gets less, but is not preempted."""


@dataclass(frozen=True, slots=True)
class _Reading:
    wall: float
    processor: float
    preemptions: int


class Disturbance:
    """Counts from its construction on, for as many computing threads."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._start = _read()

    def seen(self) -> bool:
        """Whether a neighbour was busy."""
        now, start = _read(), self._start
        elapsed = now.wall - start.wall
        preempted = now.preemptions - start.preemptions > PREEMPTIONS_PER_SECOND * elapsed
        return preempted and now.processor - start.processor < UNDISTURBED_SHARE * self._threads * elapsed


def _read() -> _Reading:
    """Windows does not count preemptions: every measurement is trusted there."""
    preemptions = 0
    if sys.platform != "win32":
        from resource import RUSAGE_SELF, getrusage

        preemptions = getrusage(RUSAGE_SELF).ru_nivcsw
    return _Reading(time.perf_counter(), time.process_time(), preemptions)
