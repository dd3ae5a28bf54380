"""DRY, don't repeat yourself: what would lengthen a repetition is made the less likely, the longer that repetition is.

By p-e-w for text-generation-webui, and in llama.cpp's form: if the last n tokens of prompt and answer stand elsewhere in the window,
n >= ``allowed_length``, then the token that followed them there loses ``multiplier * base ** (n - allowed_length)``; of several such
n the largest counts. No repetition reaches back over a breaker, and a token that holds a breaker by itself is never penalised.

For each position we keep how many tokens up to it equal the newest ones. Each new token shifts these lengths by one and adds one where
it stands, which is one array operation, where matching afresh would walk back from every place at every step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.core.request import Dry
from dragoman.engines.backend import Vocabulary

LONGEST = 1024
"""Tokens of a repetition that are counted. Only a base very near to 1 would tell longer ones apart, or an allowed length as large,
which so forbids nothing.
"""

_FLAT = 1.000001
_MAX_LOG = math.log(float(np.finfo(np.float32).max))


class DontRepeat:
    """The penalty for one sequence."""

    def __init__(self, dry: Dry, vocabulary: Vocabulary) -> None:
        self._dry = dry
        self._breakers = _Breakers(dry.breakers, vocabulary)
        self._max_exponent = int(_MAX_LOG / math.log(dry.base)) if dry.base > _FLAT else 0
        """A larger power is more than a float32 holds; that of a flat base is always 1."""
        self._longest = min(dry.allowed_length + self._max_exponent, LONGEST)
        self._length = 0
        self._history = np.zeros(0, np.int32)
        self._repeated = np.zeros(0, np.int32)
        """How many tokens up to and with each one equal the newest; the last entry is not used."""

    def apply(self, row: NDArray[np.float32], prompt: Sequence[int], generated: Sequence[int]) -> None:
        """Change ``row`` in place."""
        self._follow(prompt, generated)
        first = 0 if self._dry.window < 0 else max(0, self._length - self._dry.window)
        repeated = self._repeated[first : self._length - 1]
        lengths = np.minimum(repeated, min(self._breakers.since, self._longest))
        before = np.arange(1, len(repeated) + 1, dtype=np.int32)  # as many tokens as the window has up to there
        lengths = np.minimum(lengths, before)
        found = np.flatnonzero(lengths >= self._dry.allowed_length)
        followers = self._history[first + 1 + found]
        free = ~self._breakers.hold(followers)
        followers, lengths = followers[free], lengths[found][free]
        if not len(followers):
            return
        order = np.argsort(lengths, kind="stable")  # of equal followers the last is written, so the longest counts
        followers, lengths = followers[order], lengths[order]
        row[followers] -= self._penalty(lengths)

    def _penalty(self, lengths: NDArray[np.int32]) -> NDArray[np.float32]:
        exponent = np.minimum(lengths - self._dry.allowed_length, self._max_exponent)
        penalty = self._dry.multiplier * np.power(self._dry.base, exponent, dtype=np.float64)
        return np.minimum(penalty, np.finfo(np.float32).max).astype(np.float32)

    def _follow(self, prompt: Sequence[int], generated: Sequence[int]) -> None:
        if self._length == 0:
            self._begin([*prompt, *generated])
        for token in generated[self._length - len(prompt) :]:
            self._breakers.append(token)
            self._append(token)

    def _begin(self, history: list[int]) -> None:
        """Read as much of the history's end as decides all lengths: back to a breaker, or to where they are cut."""
        for token in history[-self._longest :]:
            self._breakers.append(token)
        self._length = len(history) - self._breakers.since
        self._history = np.array([*history, *[0] * 64], np.int32)
        self._repeated = np.zeros_like(self._history)
        for token in history[self._length :]:
            self._append(token)

    def _append(self, token: int) -> None:
        length = self._length
        if length == len(self._history):
            self._history = np.concatenate((self._history, np.zeros_like(self._history)))
            self._repeated = np.concatenate((self._repeated, np.zeros_like(self._repeated)))
        here = self._history[:length] == token
        self._repeated[1:length] = self._repeated[: max(0, length - 1)] + 1
        self._repeated[:1] = 1
        self._repeated[:length] *= here
        self._history[length] = token
        self._length = length + 1


class _Breakers:
    """Where texts that end a repetition stand, in a history of tokens. They may lie across several."""

    def __init__(self, texts: Sequence[str], vocabulary: Vocabulary) -> None:
        self.since = 0
        """Tokens after the last breaker, or all."""
        self._texts = [text.encode() for text in texts if text]
        self._vocabulary = vocabulary
        self._reach = max(map(len, self._texts), default=1) - 1
        self._tail = b""
        self._held = np.full(vocabulary.size, -1, np.int8)
        """Whether a token holds a breaker: 1, 0, or -1 where nobody has asked yet."""

    def append(self, token: int) -> None:
        """The history goes on."""
        piece = self._vocabulary.piece(token)
        text = self._tail + piece
        begin = len(self._tail)
        ended = any(text.find(breaker, max(0, begin - len(breaker) + 1)) >= 0 for breaker in self._texts)
        self.since = 0 if ended else self.since + 1
        self._tail = text[-self._reach :] if self._reach else b""

    def hold(self, tokens: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which of the tokens hold a whole breaker. Each is looked at once."""
        for token in np.unique(tokens[self._held[tokens] < 0]).tolist():
            piece = self._vocabulary.piece(token)
            self._held[token] = any(breaker in piece for breaker in self._texts)
        held: NDArray[np.bool_] = self._held[tokens] == 1
        return held
