"""Which candidates stay: indices into a row of logits or of weights. None of these leaves nobody."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_BINS = 2048
_TINY = 1e-300


def largest(values: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    """Indices of the ``count`` largest values, largest first; of equals the lowest index comes first and is kept."""
    if count >= len(values):
        return np.argsort(-values, kind="stable")
    least = np.partition(values, -count)[-count]
    at_least = np.flatnonzero(values >= least)
    return at_least[np.argsort(-values[at_least], kind="stable")][:count]


def nucleus(weights: NDArray[np.float64], mass: float) -> NDArray[np.intp]:
    """Indices of the smallest set of largest weights that holds ``mass`` of the total (Holtzman et al., 2020).

    What is lighter than an even share of the rest cannot be in the set, which spares sorting the whole vocabulary.
    """
    total = float(weights.sum())
    heavy = np.flatnonzero(weights >= (1.0 - mass) * total / len(weights))
    heavy = heavy[np.argsort(-weights[heavy], kind="stable")]
    return heavy[: _crossing(weights[heavy], mass * total)]


def typical(logits: NDArray[np.float32], mass: float) -> NDArray[np.intp]:
    """Indices of the smallest set that holds ``mass`` of those whose surprise is nearest to the expected one (Meister et al., 2022).

    The surprise of a token is -log p, and the expected one the entropy H. Those above 2H are all further from H than the others,
    and those above log(N / (1 - mass)) hold less than 1 - mass together: what is above both is never needed. ``mass`` is under 1.
    """
    shifted = logits.astype(np.float64) - float(logits.max())
    weights = np.exp(shifted)
    norm = math.log(float(weights.sum()))
    possible = np.flatnonzero(weights)  # the others' p log p is 0, and not the NaN of a masked one
    surprise = norm - shifted[possible]
    probabilities = weights[possible] * math.exp(-norm)
    entropy = float((probabilities * surprise).sum())  # a dot product would wake BLAS's threads beside the model's
    near = np.flatnonzero(surprise <= max(2 * entropy, math.log(len(possible) / (1 - mass))))
    chosen = _nearest(np.abs(surprise[near] - entropy), probabilities[near], mass)
    return possible[near[chosen]]


def without_top_choices(weights: NDArray[np.float64], threshold: float) -> NDArray[np.intp]:
    """All indices but those whose share is at least ``threshold``, of which the least likely stays: XTC, exclude top choices."""
    shares = weights / weights.sum()
    top = np.flatnonzero(shares >= threshold)
    if len(top) < 2:
        return np.arange(len(weights))
    spared = top[len(top) - 1 - int(shares[top][::-1].argmin())]  # of equals the last, as behind a sort
    return np.flatnonzero((shares < threshold) | (np.arange(len(weights)) == spared))


def _nearest(distances: NDArray[np.float64], weights: NDArray[np.float64], mass: float) -> NDArray[np.intp]:
    """Indices, ascending, of the fewest smallest ``distances`` whose weights reach ``mass``; of equals the first ones.

    Only those of one bin of a histogram are sorted: the one in which ``mass`` is reached.
    """
    bins = (distances * (_BINS / max(float(distances.max()), _TINY))).astype(np.intp)
    held = np.cumsum(np.bincount(bins, weights))
    last = min(int(np.searchsorted(held, mass, side="left")), len(held) - 1)
    rest = mass - float(held[last - 1]) if last else mass
    edge = np.flatnonzero(bins == last)
    edge = edge[np.argsort(distances[edge], kind="stable")]
    chosen = bins < last
    chosen[edge[: _crossing(weights[edge], rest)]] = True
    return np.flatnonzero(chosen)


def _crossing(weights: NDArray[np.float64], mass: float) -> int:
    """How many of the first weights it takes to reach ``mass``."""
    return int(np.searchsorted(np.cumsum(weights), mass, side="left")) + 1
