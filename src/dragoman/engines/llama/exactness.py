"""Whether a layout computes the same bits however the work is cut up: the property behind deterministic answers.

The same tokens are computed in one chunk, in many, beside seven other sequences, and after a prefix was copied and cut. One
unequal bit in the next-token logits is a failure.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.engines.llama.probe import Probe

_LENGTH = 75
_SHARED = 41
_NEIGHBOURS = 7
_STEPS = 16
"""Other kernels round elsewhere, but activations are quantised, which hides that in most steps: a few are too few to see it."""
_LONG = 300
"""llama.cpp attends over as many cells as the longest neighbour has."""


def is_exact(probe: Probe) -> bool:
    """Compute the same in several ways and compare bits."""
    prompt, following = probe.tokens(_LENGTH, seed=1), probe.tokens(_STEPS, seed=2)
    whole = probe.prefill(0, prompt)
    alone = [probe.compute((0, _LENGTH + index, [token]))[0] for index, token in enumerate(following)]

    for chunk in (1, 7, 64):
        if not np.array_equal(probe.prefill(0, prompt, chunk=chunk), whole):
            return False
    lengths = [24 + 13 * index for index in range(_NEIGHBOURS - 1)] + [_LONG]
    for index, length in enumerate(lengths, 1):
        probe.prefill(index, probe.tokens(length, seed=2 + index))
    for step, token in enumerate(following):
        neighbours = [(index, length + step, [token]) for index, length in enumerate(lengths, 1)]
        if not np.array_equal(probe.compute((0, _LENGTH + step, [token]), *neighbours)[0], alone[step]):
            return False
    return _is_exact_mixed(probe, prompt, following, whole, alone)


def _is_exact_mixed(
    probe: Probe,
    prompt: Sequence[int],
    following: Sequence[int],
    whole: NDArray[np.float32],
    alone: list[NDArray[np.float32]],
) -> bool:
    """A generated token and the rest of a prompt whose prefix was copied, in one step."""
    target = 1 + _NEIGHBOURS
    probe.prefill(0, prompt)
    for step, token in enumerate(following):
        probe.copy(0, target, _SHARED + step)
        generated = (0, _LENGTH + step, [token])
        mixed = probe.compute(generated, (target, _SHARED + step, prompt[_SHARED + step :]))
        if not (np.array_equal(mixed[0], alone[step]) and np.array_equal(mixed[1], whole)):
            return False
    return True
