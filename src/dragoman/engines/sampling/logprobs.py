"""Log-probabilities of the model's own distribution: the log-softmax of a row over the whole vocabulary, in nats."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman.engines.sampling.truncation import largest
from dragoman.protocol.frames import Numeric


def log_softmax(row: NDArray[np.float32]) -> NDArray[np.float64]:
    """Log-probabilities of the whole vocabulary."""
    shifted = row.astype(np.float64) - float(row.max())
    result: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum())
    return result


def numeric(row: NDArray[np.float32], token: int, alternatives: int) -> Numeric:
    """The log-probability of ``token``, and the likeliest ``alternatives``, likeliest first and then by id."""
    peak = float(row.max())
    norm = peak + float(np.log(np.exp(row - np.float32(peak)).sum(dtype=np.float64)))
    top: tuple[tuple[int, float], ...] = ()
    if alternatives:
        top = tuple((int(index), float(row[index]) - norm) for index in largest(row, alternatives))
    return Numeric(float(row[token]) - norm, top)
