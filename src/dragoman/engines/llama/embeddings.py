"""What pictures became, by name: the latest used of them, in so many bytes. For one thread."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray


class Embeddings:
    """One that is larger than all the room is not kept."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._held: OrderedDict[str, NDArray[np.float32]] = OrderedDict()

    def find(self, name: str) -> NDArray[np.float32] | None:
        """The embedding of this name, which is now the latest used; None where it is not kept (any more)."""
        if name in self._held:
            self._held.move_to_end(name)
        return self._held.get(name)

    def keep(self, name: str, embedding: NDArray[np.float32]) -> None:
        """Keep one of a name that is not there."""
        self._held[name] = embedding
        self._room -= embedding.nbytes
        while self._room < 0:
            _, dropped = self._held.popitem(last=False)
            self._room += dropped.nbytes
