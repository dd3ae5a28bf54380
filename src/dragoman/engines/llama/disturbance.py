"""Whether something else ran on our cores while we measured: the system counts how often it took one from us."""

from __future__ import annotations

import sys
import time

PREEMPTIONS_PER_SECOND = 40
"""An idle machine takes a core from us a few times a second, a busy one hundreds of times."""


class Disturbance:
    """Counts from its construction on."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._preemptions = _preemptions()

    def seen(self) -> bool:
        """Whether a neighbour was busy."""
        elapsed = time.perf_counter() - self._started
        return _preemptions() - self._preemptions > PREEMPTIONS_PER_SECOND * elapsed


def _preemptions() -> int:
    """Windows has no such count: every measurement is trusted there."""
    if sys.platform == "win32":
        return 0
    from resource import RUSAGE_SELF, getrusage

    return getrusage(RUSAGE_SELF).ru_nivcsw
