"""What one request asks of each of its tokens, put together once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.core.request import SamplingParams
from dragoman.engines.backend import Vocabulary
from dragoman.engines.sampling.draw import draw
from dragoman.engines.sampling.dry import DontRepeat
from dragoman.engines.sampling.masks import BadWords, Bias, Only, Unended
from dragoman.engines.sampling.penalties import Occurrence, Repetition


class Change(Protocol):
    """Something that changes logits."""

    def apply(self, row: NDArray[np.float32], prompt: Sequence[int], generated: Sequence[int]) -> None:
        """Change ``row`` in place."""
        ...


class Veto(Protocol):
    """Something that forbids tokens."""

    def vetoed(self, generated: Sequence[int]) -> NDArray[np.intp]:
        """Ids that may not come next."""
        ...


class Sampler:
    """Draws the tokens of one sequence. It remembers what it has counted, so ``generated`` may only grow between two calls.

    Where the vetoes leave nobody they are all lifted for that token: a client that allows two tokens and calls both bad, or allows
    the end alone and forbids it, gets the likeliest of what it allows, and no error in the middle of an answer. A grammar stands above
    both: what it does not allow never comes, and where it allows nothing that the others leave, they are ignored for that token.
    """

    def __init__(self, params: SamplingParams, changes: tuple[Change, ...] = (), vetoes: tuple[Veto, ...] = ()) -> None:
        self._params = params
        self._changes = changes
        self._vetoes = vetoes
        self._plain = not changes and not vetoes
        self._changed = np.empty(0, np.float32)
        """The row as changed, in memory that all tokens share."""

    def pick(
        self,
        row: NDArray[np.float32],
        prompt: Sequence[int],
        generated: Sequence[int],
        uniform: float,
        ceiling: NDArray[np.float32] | None = None,
    ) -> int:
        """The token that follows ``prompt`` and ``generated``. ``row`` holds the model's logits, and is not changed.

        ``uniform`` in [0, 1) decides as in ``draw``, which also says what comes of a row that is not finite. ``ceiling`` is of a grammar:
        infinite where a token may come, and minus infinity where not.
        """
        if self._plain and ceiling is None:
            return draw(row, self._params, uniform)
        if len(self._changed) != len(row):
            self._changed = np.empty_like(row)
        return draw(self._change(row, prompt, generated, ceiling), self._params, uniform)

    def _change(
        self,
        row: NDArray[np.float32],
        prompt: Sequence[int],
        generated: Sequence[int],
        ceiling: NDArray[np.float32] | None,
    ) -> NDArray[np.float32]:
        changed = self._changed
        np.copyto(changed, row)
        for change in self._changes:
            change.apply(changed, prompt, generated)
        if ceiling is not None:
            np.minimum(changed, ceiling, out=changed)
        if self._vetoes:
            vetoed = np.concatenate([veto.vetoed(generated) for veto in self._vetoes])
            logits = changed[vetoed]
            changed[vetoed] = -np.inf
            if len(vetoed) and changed.max() == -np.inf:
                changed[vetoed] = logits
        if ceiling is not None and changed.max() == -np.inf:
            np.minimum(row, ceiling, out=changed)
        return changed


def prepare(
    params: SamplingParams, *, min_tokens: int, stop_token_ids: tuple[int, ...], vocabulary: Vocabulary
) -> Sampler:
    """The sampler of a new sequence. The parameters are valid, and their ids in the vocabulary."""
    changes = tuple(_changes(params, vocabulary))
    vetoes = tuple(_vetoes(params, min_tokens, stop_token_ids, vocabulary))
    return Sampler(params, changes, vetoes)


def _changes(params: SamplingParams, vocabulary: Vocabulary) -> Iterator[Change]:
    """In the order of S41."""
    if params.repetition_penalty != 1 and params.repetition_window != 0:
        yield Repetition(params.repetition_penalty, params.repetition_window)
    if params.presence_penalty or params.frequency_penalty:
        yield Occurrence(params.presence_penalty, params.frequency_penalty)
    if params.dry is not None and params.dry.multiplier and params.dry.base >= 1 and params.dry.window != 0:
        yield DontRepeat(params.dry, vocabulary)
    if params.logit_bias:
        yield Bias(params.logit_bias)
    if params.allowed_token_ids:
        yield Only(params.allowed_token_ids)


def _vetoes(
    params: SamplingParams, min_tokens: int, stop_token_ids: tuple[int, ...], vocabulary: Vocabulary
) -> Iterator[Veto]:
    if params.bad_words:
        yield BadWords(params.bad_words, vocabulary)
    if min_tokens > 0:
        yield Unended(min_tokens, vocabulary.end_tokens.union(stop_token_ids))
