"""What happens while an answer is made, as a closed union that every projector matches exhaustively.

This module imports no surface, dialect or engine; they import it.

Order law of one stream: ``Accepted``, then any number of ``TextDelta``, then exactly one ``Finished``, or a
``ServiceError`` raised in its place. Nothing follows either.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class FinishReason(StrEnum):
    """Why a generation ended. Surfaces spell it in their own words."""

    STOP = "stop"
    LENGTH = "length"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens that a request cost. ``cached_tokens`` is the part of ``prompt_tokens`` that was not computed again."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The engine took the request and will compute it: the point where a 200 may be committed."""

    prompt_tokens: int
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """Text that the client may see now; never empty, always whole characters."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The end of the answer. ``stop_sequence`` is the client's stop string that matched, if one did."""

    reason: FinishReason
    usage: Usage
    stop_sequence: str | None = None


GenerationEvent: TypeAlias = Accepted | TextDelta | Finished
