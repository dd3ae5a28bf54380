"""Drawing a token: what the parameters leave of a row, and one number in [0, 1) to pick from it."""

from __future__ import annotations

import math
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from dragoman.core.request import SamplingParams
from dragoman.engines.sampling.truncation import largest, nucleus, typical, without_top_choices

COLDEST = 1e-6
"""A temperature up to this is greedy. float32 logits of usual size lie no closer, and dividing by far less overflows."""

_BELOW_ONE = math.nextafter(1.0, 0.0)


def draw(row: NDArray[np.float32], params: SamplingParams, uniform: float) -> int:
    """The next token. ``row`` has shape (vocabulary,); ``uniform`` in [0, 1) decides among what the parameters leave.

    A row whose largest logit is NaN or infinite has no distribution: that logit's id is returned, so that the caller sees it.
    """
    best = int(row.argmax())
    peak = row[best]
    if params.temperature <= COLDEST or not np.isfinite(peak):
        return best
    if params.top_k == 1 and params.typical_p >= 1:
        return best
    ids: NDArray[np.intp] | None = None
    kept = row
    if params.typical_p < 1:
        ids = typical(row, params.typical_p)
        kept = row[ids]
        peak = kept.max()  # the likeliest token may be less typical than others
    if params.min_p > 0:
        chosen = np.flatnonzero(kept >= peak + math.log(params.min_p))
        ids, kept = _of(ids, chosen), kept[chosen]
    if 0 < params.top_k < len(kept):
        chosen = largest(kept, params.top_k)
        ids, kept = _of(ids, chosen), kept[chosen]
    weights = np.exp((kept - peak) / np.float32(params.temperature), dtype=np.float64)
    if params.top_p < 1:
        chosen = nucleus(weights, params.top_p)
        ids, weights = _of(ids, chosen), weights[chosen]
    if params.xtc is not None:
        applies, uniform = _decide(uniform, params.xtc.probability)
        if applies:
            chosen = without_top_choices(weights, params.xtc.threshold)
            ids, weights = _of(ids, chosen), weights[chosen]
    total = np.cumsum(weights)
    index = min(int(np.searchsorted(total, uniform * total[-1], side="right")), len(total) - 1)
    return index if ids is None else int(ids[index])


def uniform(seed: int, position: int) -> float:
    """A number in [0, 1) that depends on the seed and the token's position alone, so on nothing else in the batch."""
    digest = blake2b(
        position.to_bytes(8, "little"), key=seed.to_bytes(16, "little", signed=True), digest_size=8
    ).digest()
    return (int.from_bytes(digest, "little") >> 11) * 2.0**-53


def _of(ids: NDArray[np.intp] | None, chosen: NDArray[np.intp]) -> NDArray[np.intp]:
    """Ids of the ``chosen`` ones among ``ids``; None is the whole vocabulary in order."""
    return chosen if ids is None else ids[chosen]


def _decide(uniform: float, probability: float) -> tuple[bool, float]:
    """Whether an event of this ``probability`` happens, and a fresh uniform number: where ``uniform`` lies within its part.

    So one number is enough for both decisions, and they are independent.
    """
    if uniform < probability:
        return True, min(uniform / probability, _BELOW_ONE)
    return False, min((uniform - probability) / (1.0 - probability), _BELOW_ONE)
