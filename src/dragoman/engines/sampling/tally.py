"""How often each token occurs in a history that grows: counted as it grows, never again from the start."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class Tally:
    """Counts of distinct tokens, as two arrays side by side, so that a row is changed at all of them in one operation."""

    def __init__(self) -> None:
        self._place: dict[int, int] = {}
        self._ids = np.zeros(64, np.intp)
        self._counts = np.zeros(64, np.int32)

    @property
    def ids(self) -> NDArray[np.intp]:
        """The distinct tokens that were ever added."""
        return self._ids[: len(self._place)]

    @property
    def counts(self) -> NDArray[np.int32]:
        """How often each of ``ids`` is there now; 0 for one that was taken out as often as it was added."""
        return self._counts[: len(self._place)]

    def fill(self, tokens: Sequence[int]) -> None:
        """Begin with these, all at once."""
        ids, counts = np.unique(np.asarray(tokens, np.intp), return_counts=True)
        self._place = {token: place for place, token in enumerate(ids.tolist())}
        room = np.zeros(64, np.intp)
        self._ids = np.concatenate((ids, room))
        self._counts = np.concatenate((counts.astype(np.int32), room.astype(np.int32)))

    def add(self, token: int) -> None:
        """Count one more."""
        place = self._place.setdefault(token, len(self._place))
        if place == len(self._ids):
            self._ids = np.concatenate((self._ids, np.zeros_like(self._ids)))
            self._counts = np.concatenate((self._counts, np.zeros_like(self._counts)))
        self._ids[place] = token
        self._counts[place] += 1

    def take(self, token: int) -> None:
        """Count one less of a token that was added."""
        self._counts[self._place[token]] -= 1
