"""What happens while an answer is made, as a closed union that every projector matches exhaustively.

This module imports no surface, dialect or engine; they import it.

Order law of one stream: ``Accepted``; for each choice at most one ``PromptRead``, any number of ``TextDelta``, ``ReasoningDelta`` and
tool calls (``ToolCallBegun``, any number of ``ToolCallArguments``, ``ToolCallEnded``), one ``ChoiceFinished``, those of different choices mixed; then exactly one ``Finished``. A ``ServiceError`` may be
raised in the place of any of them but the first. Nothing follows it, or ``Finished``.

Law of records: the joined texts of a choice's shown records are its text, and the same holds for each delta that has any.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class FinishReason(StrEnum):
    """Why a generation ended. Surfaces spell it in their own words."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"


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

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The engine took the request and will compute it: the point where a 200 may be committed."""

    prompt_tokens: int
    cached_tokens: int = 0


class Visibility(StrEnum):
    """What became of a token's text.

    ``SHOWN``: it is in the text of the delta that carries the record, whole or in part, or waits there for the rest of a character.
    ``CONTROL``: a control token, which has no text. ``CUT``: it was generated, and lies behind the stop that ended the answer.
    ``HIDDEN``: syntax that a dialect took out of the text.
    """

    SHOWN = "shown"
    CONTROL = "control"
    CUT = "cut"
    HIDDEN = "hidden"


@dataclass(frozen=True, slots=True)
class Alternative:
    """A token that could have come: its id, its bytes, and its log-probability in nats."""

    id: int
    data: bytes
    logprob: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRecord:
    """One token of a prompt or an answer.

    ``text`` is its share of the text that the client got: empty for all that is not ``SHOWN``, and for part of a character that a
    later token completes. ``data`` are the token's bytes, or those of ``text`` where a stop cut it (S82). ``logprob`` is None for the
    first token of a prompt, and where log-probabilities were not asked for. ``alternatives`` are the likeliest first; where there are
    any, the token itself is among them.
    """

    id: int | None
    text: str
    data: bytes
    logprob: float | None = None
    alternatives: tuple[Alternative, ...] = ()
    visibility: Visibility = Visibility.SHOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRead:
    """The prompt of a choice, as the client may see it: ``text`` where it is echoed, records or ids where asked for."""

    choice: int = 0
    text: str = ""
    tokens: tuple[TokenRecord, ...] = ()
    ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """Text that the client may see now: whole characters. It is empty only where it carries records.

    ``generated`` counts the choice's tokens so far, those that are held back included; 0 where nobody counts.
    """

    text: str
    choice: int = 0
    tokens: tuple[TokenRecord, ...] = ()
    generated: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningDelta:
    """The same for what the model thinks before it answers. Its records, where asked for, are never mixed with the text's."""

    text: str
    choice: int = 0
    tokens: tuple[TokenRecord, ...] = ()
    generated: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallBegun:
    """The model calls a tool: the ``index``-th call of its choice, from 0. Calls do not overlap, and text does not come between."""

    index: int
    name: str
    choice: int = 0
    generated: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallArguments:
    """More of a call's arguments. All of them joined are one JSON object, unless the call never ended."""

    index: int
    text: str
    choice: int = 0
    generated: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallEnded:
    """The call is whole. A call that the budget cut has no such event, and its choice ends with ``LENGTH`` (S57)."""

    index: int
    choice: int = 0
    generated: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceFinished:
    """The end of one choice. ``stop`` is what the client asked to stop at and was met: a string, or a token's id.

    ``generated`` counts its tokens, as in ``TextDelta``.
    """

    reason: FinishReason
    choice: int = 0
    stop: str | int | None = None
    generated: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The end of the answer: of all its choices. The usage counts each prompt once."""

    usage: Usage


ToolCallEvent: TypeAlias = ToolCallBegun | ToolCallArguments | ToolCallEnded

GenerationEvent: TypeAlias = (
    Accepted | PromptRead | TextDelta | ReasoningDelta | ToolCallEvent | ChoiceFinished | Finished
)
