"""Where one sequence stands in a grammar: llguidance's matcher, and its masks as ceilings over rows of logits."""

from __future__ import annotations

from typing import Final

import numpy as np
from llguidance import LLMatcher
from numpy.typing import NDArray

from dragoman.engines.backend import BadGrammar, Row

_WORD_BITS: Final = 32
_MAX_REASON: Final = 300
"""Characters of llguidance's words for people; it quotes the whole grammar where that is one line."""


class Ceilings:
    """Turns bit masks into ceilings, in memory that all sequences share: eight at a time, from a table of all bytes.

    So it takes the same time for any mask, which choosing by Boolean arrays does not: half full ones cost twenty times as much.
    """

    def __init__(self, vocabulary_size: int) -> None:
        self.words = (vocabulary_size + _WORD_BITS - 1) // _WORD_BITS
        """Of a mask, 32 bits each."""
        bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
        self._table = np.where(bits, np.float32(np.inf), np.float32(-np.inf))
        self._eights = np.empty((4 * self.words, 8), np.float32)
        self._row = self._eights.reshape(-1)[:vocabulary_size]

    def of(self, mask: NDArray[np.uint32]) -> Row:
        """The ceiling of a mask. It is valid until the next call."""
        self._table.take(mask.view(np.uint8), axis=0, out=self._eights, mode="clip")
        return self._row


class MatcherConstraint:
    """Implements ``engines.backend.Constraint``."""

    def __init__(self, matcher: LLMatcher, ceilings: Ceilings) -> None:
        self._matcher = matcher
        self._ceilings = ceilings
        self._mask = np.zeros(ceilings.words, np.uint32)

    @property
    def complete(self) -> bool:
        return self._matcher.is_stopped() and not self._matcher.is_error()

    def ceiling(self) -> Row:
        self._matcher.unsafe_compute_mask_ptr(self._mask.ctypes.data, self._mask.nbytes)
        check(self._matcher)
        return self._ceilings.of(self._mask)

    def take(self, token: int) -> None:
        self._matcher.consume_token(token)
        check(self._matcher)

    def force(self) -> list[int]:
        tokens = self._matcher.compute_ff_tokens()
        if tokens:
            self._matcher.consume_tokens(tokens)
        check(self._matcher)
        return tokens


def check(matcher: LLMatcher) -> None:
    """Raise ``BadGrammar`` with llguidance's words where a matcher is in its error state, which it never leaves."""
    if matcher.is_error():
        reason = matcher.get_error().partition("\n")[0]
        raise BadGrammar(reason[:_MAX_REASON] or "it can not be followed")
