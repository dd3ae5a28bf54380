"""Why not more of a prompt was in the cache: one word, decided from four lengths. Pure.

Every length counts leading tokens of the prompt. The rows of ``why`` are read from the top, and the first that fits decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Miss(StrEnum):
    """What kept the cache from holding all of a prompt but its last token, which is always computed.

    ``ECHO``: the prompt was to be read whole. ``EVICTED``: more was held lately, and gave way to others. ``ANSWER``: more was generated
    here, by an engine that reads its own answers again. ``INDIVISIBLE``: more is held by a sequence that can not be cut back to it.
    ``BUSY``: more was just being computed for another request, too little to wait for. ``SHORT``: what is known is not worth a copy.
    ``DIVERGED``: nothing known goes on like it. ``COLD``: nothing known begins like it.
    """

    ECHO = "echo"
    EVICTED = "evicted"
    ANSWER = "answer"
    INDIVISIBLE = "indivisible"
    BUSY = "busy"
    SHORT = "short"
    DIVERGED = "diverged"
    COLD = "cold"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was known when a prompt got its cache sequence.

    ``known``: tokens that any cache sequence holds or will hold. ``ready``: those that are computed, and can be cut to. ``taken``: those
    that the prompt began with. ``lost``: those that were held lately, and why they are not any more.
    """

    known: int = 0
    ready: int = 0
    taken: int = 0
    lost: int = 0
    cause: Miss = Miss.EVICTED


def why(found: Found, *, wanted: int, echo: bool, cuttable: bool, worth: int) -> Miss | None:
    """The reason; None where ``wanted`` tokens, all that could be, were taken. A loss of up to ``worth`` tokens is none."""
    if found.taken >= wanted:
        return None
    if echo:
        return Miss.ECHO
    if found.lost > found.known + worth:
        return found.cause
    if found.ready < found.known:
        return Miss.BUSY if cuttable else Miss.INDIVISIBLE
    if found.taken < found.ready:
        return Miss.SHORT
    return Miss.DIVERGED if found.known else Miss.COLD
