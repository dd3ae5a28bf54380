"""Drawing the next token from a row of logits: float32 rows, no Python loop over the vocabulary.

Order of S41: min_p, then temperature, top_k, top_p. Log-probabilities are the log-softmax of the model's own logits over the
whole vocabulary, before any of these. A row that asks for nothing pays for nothing.
"""

from __future__ import annotations

import math
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from dragoman.core.request import SamplingParams
from dragoman.protocol.frames import Numeric

COLDEST = 1e-6
"""A temperature up to this is greedy. float32 logits of usual size lie no closer, and dividing by far less overflows."""


def draw(row: NDArray[np.float32], params: SamplingParams, uniform: float) -> int:
    """The next token. ``row`` has shape (vocabulary,); ``uniform`` in [0, 1) decides among what the parameters leave.

    A row whose largest logit is NaN or infinite has no distribution: that logit's id is returned, so that the caller sees it.
    """
    best = int(row.argmax())
    peak = row[best]
    if params.temperature <= COLDEST or params.top_k == 1 or not np.isfinite(peak):
        return best
    ids: NDArray[np.intp] | None = None
    if params.min_p > 0:
        ids = np.flatnonzero(row >= peak + math.log(params.min_p))
    kept = row if ids is None else row[ids]
    if 0 < params.top_k < len(kept):
        chosen = _largest(kept, params.top_k)
        ids, kept = (chosen if ids is None else ids[chosen]), kept[chosen]
    weights = np.exp((kept - peak) / np.float32(params.temperature), dtype=np.float64)
    if params.top_p < 1:
        chosen = _nucleus(weights, params.top_p)
        ids, weights = (chosen if ids is None else ids[chosen]), weights[chosen]
    total = np.cumsum(weights)
    index = min(int(np.searchsorted(total, uniform * total[-1], side="right")), len(total) - 1)
    return index if ids is None else int(ids[index])


def uniform(seed: int, position: int) -> float:
    """A number in [0, 1) that depends on the seed and the token's position alone, so on nothing else in the batch."""
    digest = blake2b(
        position.to_bytes(8, "little"), key=seed.to_bytes(16, "little", signed=True), digest_size=8
    ).digest()
    return (int.from_bytes(digest, "little") >> 11) * 2.0**-53


def log_softmax(row: NDArray[np.float32]) -> NDArray[np.float64]:
    """Log-probabilities of the whole vocabulary, in nats."""
    shifted = row.astype(np.float64) - float(row.max())
    result: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum())
    return result


def numeric(row: NDArray[np.float32], token: int, alternatives: int) -> Numeric:
    """The log-probability of ``token``, and the likeliest ``alternatives``, likeliest first and then by id."""
    peak = float(row.max())
    norm = peak + float(np.log(np.exp(row - np.float32(peak)).sum(dtype=np.float64)))
    top: tuple[tuple[int, float], ...] = ()
    if alternatives:
        top = tuple((int(index), float(row[index]) - norm) for index in _largest(row, alternatives))
    return Numeric(float(row[token]) - norm, top)


def _largest(values: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    """Indices of the ``count`` largest values, largest first; of equals the lowest index comes first and is kept."""
    if count >= len(values):
        return np.argsort(-values, kind="stable")
    least = np.partition(values, -count)[-count]
    at_least = np.flatnonzero(values >= least)
    return at_least[np.argsort(-values[at_least], kind="stable")][:count]


def _nucleus(weights: NDArray[np.float64], mass: float) -> NDArray[np.intp]:
    """Indices of the smallest set of largest weights that holds ``mass`` of the total (Holtzman et al., 2020).

    What is lighter than an even share of the rest cannot be in the set, which spares sorting the whole vocabulary.
    """
    total = float(weights.sum())
    heavy = np.flatnonzero(weights >= (1.0 - mass) * total / len(weights))
    heavy = heavy[np.argsort(-weights[heavy], kind="stable")]
    size = int(np.searchsorted(np.cumsum(weights[heavy]), mass * total, side="left")) + 1
    return heavy[:size]
