"""When to start a dead engine again, as plain data: at once the first time, then later and later, then not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPolicy:
    """``delays[n]`` seconds pass before the restart that follows the n-th recent crash; one more crash gives up.

    A crash is recent for ``window`` seconds, so an engine that dies once a day is always started again at once, and
    one that cannot even load is left alone after a few minutes, with its last failure to show.
    """

    delays: tuple[float, ...] = (0.0, 1.0, 3.0, 10.0, 30.0)
    window: float = 300.0

    def delay(self, crashes: Sequence[float], now: float) -> float | None:
        """Seconds to wait, given the times of all crashes, the one at hand included; None is giving up."""
        recent = sum(1 for at in crashes if now - at <= self.window)
        return self.delays[recent - 1] if 1 <= recent <= len(self.delays) else None
