"""Which idle cache sequences are given up last, because a client said that it will come back for them.

It is a privilege in the order of eviction and no claim: when nothing else is left, they go too. Half of the sequences at most have
it, so that clients who ask for it with each request take nothing from those who never do.
"""

from __future__ import annotations

from typing import Final

KEEP_SECONDS: Final = 300.0
"""After the last use: the lifetime that Anthropic documents for ``cache_control`` of the type ``ephemeral``."""


class Keeping:
    """Kept sequences, the one that was used longest ago first. Times are in seconds of any clock that never goes back."""

    def __init__(self, *, most: int, seconds: float = KEEP_SECONDS) -> None:
        self._most = most
        self._seconds = seconds
        self._until: dict[int, float] = {}

    def keep(self, seq_id: int, now: float) -> None:
        """From now on, or from now on again."""
        self.forget(seq_id)
        self._until[seq_id] = now + self._seconds
        self._until = {held: until for held, until in self._until.items() if until > now}
        while len(self._until) > self._most:
            del self._until[next(iter(self._until))]

    def use(self, seq_id: int, now: float) -> None:
        """Somebody took a prefix from it: what is kept is kept for another while."""
        if self.keeps(seq_id, now):
            self.keep(seq_id, now)

    def forget(self, seq_id: int) -> None:
        """It holds something else."""
        self._until.pop(seq_id, None)

    def keeps(self, seq_id: int, now: float) -> bool:
        """Whether others go first."""
        return seq_id in self._until and now < self._until[seq_id]
