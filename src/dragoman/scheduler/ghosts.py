"""What the cache held lately and does not any more: token ids without keys and values, so that a miss can be explained.

It decides nothing. Namespaces never meet here either: what another caller lost is nobody's business.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from dragoman.scheduler.miss import Miss
from dragoman.scheduler.prefix_cache import PrefixCache

MAX_GHOSTS: Final = 64
"""Lost sequences that are remembered: a few times as many as run at once."""

MAX_GHOST_TOKENS: Final = 262_144
"""Tokens of all of them; with the tree around them some ten megabytes."""


class Ghosts:
    """The newest losses, oldest forgotten first."""

    def __init__(self, *, most: int = MAX_GHOSTS, tokens: int = MAX_GHOST_TOKENS) -> None:
        self._most = most
        self._room = tokens
        self._tree = PrefixCache()
        self._causes: dict[int, Miss] = {}
        self._order: deque[tuple[int, int]] = deque()
        self._count = 0
        self._number = 0

    def lose(self, tokens: Sequence[int], namespace: str, cause: Miss) -> None:
        """The cache gave these up. One that is longer than all that may be remembered is not."""
        if not tokens or len(tokens) > self._room:
            return
        self._number += 1
        self._tree.insert(self._number, tokens, namespace)
        self._causes[self._number] = cause
        self._order.append((self._number, len(tokens)))
        self._count += len(tokens)
        while len(self._order) > self._most or self._count > self._room:
            number, length = self._order.popleft()
            self._tree.remove(number)
            del self._causes[number]
            self._count -= length

    def longest(self, tokens: Sequence[int], namespace: str) -> tuple[int, Miss]:
        """How many of these leading tokens were lost at most, and why."""
        best = next(iter(self._tree.match(tokens, namespace)), None)
        return (0, Miss.EVICTED) if best is None else (best.length, self._causes[best.seq_id])
