"""What an older engine says beyond what was asked: it has one number of alternatives for prompt and answer, and 0 is off (S87). Pure."""

from __future__ import annotations

import math
from dataclasses import replace
from heapq import nlargest

from dragoman.protocol.frames import Data, Echo, Numeric


def as_asked(frame: Data | Echo, alternatives: int | None) -> Data | Echo:
    """The frame with the likeliest ``alternatives`` of those that it has; None wants no numbers, which only a DATA can lack."""
    numeric = frame.numeric
    if numeric is None:
        return frame
    if alternatives is None:
        return replace(frame, numeric=None) if isinstance(frame, Data) else frame
    if len(numeric.top) <= alternatives:
        return frame
    return replace(frame, numeric=Numeric(numeric.logprob, tuple(nlargest(alternatives, numeric.top, key=_likelihood))))


def _likelihood(pair: tuple[int, float]) -> float:
    return -math.inf if math.isnan(pair[1]) else pair[1]
