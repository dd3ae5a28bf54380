"""Penalties for what has been said already. Each follows one sequence: the answer it is given only ever grows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.engines.sampling.tally import Tally

_FINITE = np.finfo(np.float32)


class Repetition:
    """Divides positive logits and multiplies negative ones of the last ``window`` tokens of prompt and answer (S34; -1: of all).

    The rule of Transformers, whose authors have it from CTRL (Keskar et al., 2019).
    """

    def __init__(self, penalty: float, window: int) -> None:
        self._penalty = penalty
        self._window = window
        self._tally = Tally()
        self._length: int | None = None
        """Tokens of prompt and answer that were counted."""

    def apply(self, row: NDArray[np.float32], prompt: Sequence[int], generated: Sequence[int]) -> None:
        """Change ``row`` in place."""
        self._follow(prompt, generated)
        ids = self._tally.ids if self._window < 0 else self._tally.ids[self._tally.counts > 0]
        values = row[ids].astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.where(values > 0, values / self._penalty, values * self._penalty)
        row[ids] = np.clip(values, _FINITE.min, _FINITE.max)

    def _follow(self, prompt: Sequence[int], generated: Sequence[int]) -> None:
        length, window = len(prompt) + len(generated), self._window
        if self._length is None:
            history = [*prompt, *generated]
            self._tally.fill(history if window < 0 else history[length - min(window, length) :])
        else:
            for position in range(self._length, length):
                self._tally.add(_at(prompt, generated, position))
                if 0 <= window <= position:
                    self._tally.take(_at(prompt, generated, position - window))
        self._length = length


class Occurrence:
    """Takes ``frequency`` for each time, and ``presence`` once, from every token that is in the answer (S33, OpenAI's formula)."""

    def __init__(self, presence: float, frequency: float) -> None:
        self._presence = np.float32(presence)
        self._frequency = np.float32(frequency)
        self._tally = Tally()
        self._length = 0

    def apply(self, row: NDArray[np.float32], _prompt: Sequence[int], generated: Sequence[int]) -> None:
        """Change ``row`` in place."""
        for token in generated[self._length :]:
            self._tally.add(token)
        self._length = len(generated)
        counts = self._tally.counts.astype(np.float32)
        row[self._tally.ids] -= counts * self._frequency + self._presence


def _at(prompt: Sequence[int], generated: Sequence[int], position: int) -> int:
    return prompt[position] if position < len(prompt) else generated[position - len(prompt)]
