"""Which tokens the client makes likelier, or forbids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.core.request import TextPrompt
from dragoman.engines.backend import Vocabulary

NOBODY: NDArray[np.intp] = np.empty(0, np.intp)
NOBODY.setflags(write=False)


class Bias:
    """Adds to the logits of some tokens (S35)."""

    def __init__(self, pairs: Iterable[tuple[int, float]]) -> None:
        bias = dict(pairs)
        self._ids = np.fromiter(bias.keys(), np.intp, len(bias))
        self._values = np.fromiter(bias.values(), np.float32, len(bias))

    def apply(self, row: NDArray[np.float32], _prompt: Sequence[int], _generated: Sequence[int]) -> None:
        """Change ``row`` in place."""
        row[self._ids] += self._values


class Only:
    """Forbids all tokens but some."""

    def __init__(self, ids: Iterable[int]) -> None:
        self._ids = np.unique(np.fromiter(ids, np.intp))

    def apply(self, row: NDArray[np.float32], _prompt: Sequence[int], _generated: Sequence[int]) -> None:
        """Change ``row`` in place."""
        allowed = row[self._ids]
        row.fill(-np.inf)
        row[self._ids] = allowed


class Unended:
    """Vetoes whatever would end the answer until it has ``min_tokens`` (S36)."""

    def __init__(self, min_tokens: int, ends: Iterable[int]) -> None:
        self._min_tokens = min_tokens
        self._ends = np.fromiter(ends, np.intp)

    def vetoed(self, generated: Sequence[int]) -> NDArray[np.intp]:
        """Ids that may not come next."""
        return self._ends if len(generated) < self._min_tokens else NOBODY


class BadWords:
    """Vetoes the token that would complete a forbidden sequence in the answer.

    vLLM's rule, for each text without the white space before it and as it follows a blank; a text of white space alone is itself. Other
    splits of the same text are not seen.
    """

    def __init__(self, words: Iterable[str], vocabulary: Vocabulary) -> None:
        sequences = {
            tuple(vocabulary.tokenize(TextPrompt(text=text, add_special=False)))
            for word in words
            for text in _beginnings(word)
        }
        self._always = np.array(sorted({tokens[0] for tokens in sequences if len(tokens) == 1}), np.intp)
        self._after: dict[int, list[tuple[int, ...]]] = {}
        """The longer sequences, by the token that comes before their last."""
        for tokens in sorted(sequences):
            if len(tokens) > 1:
                self._after.setdefault(tokens[-2], []).append(tokens)

    def vetoed(self, generated: Sequence[int]) -> NDArray[np.intp]:
        """Ids that may not come next."""
        begun = self._after.get(generated[-1], ()) if generated else ()
        completing = [tokens[-1] for tokens in begun if tuple(generated[-len(tokens) + 1 :]) == tokens[:-1]]
        return np.append(self._always, completing).astype(np.intp) if completing else self._always


def _beginnings(word: str) -> tuple[str, ...]:
    """A word as it may stand in an answer: at its start, or behind a blank."""
    bare = word.lstrip()
    return (bare, " " + bare) if bare else (word,)
