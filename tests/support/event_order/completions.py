"""What a stream of Completions may do: wire.md section 3, S2, S53, and the types of OpenAI's SDK."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Literal

from openai.types import Completion, CompletionChoice
from openai.types.completion_choice import Logprobs
from pydantic import TypeAdapter

from support.event_order.choices import ChunkOrder
from support.event_order.order import violations_of


class _EchoedLogprobs(Logprobs):
    """Nothing comes before the first token of a prompt, so that has no value (S78); OpenAI's type has not thought of it."""

    token_logprobs: list[float | None]
    top_logprobs: list[dict[str, float] | None]


class _StreamedChoice(CompletionChoice):
    """A chunk's choice: OpenAI's one type for both shapes has no null, which each chunk but the last has."""

    finish_reason: Literal["stop", "length", "content_filter"] | None
    logprobs: _EchoedLogprobs | None


class _Chunk(Completion):
    choices: list[_StreamedChoice]


def violations(stream: bytes, *, usage: bool = False, continuous: bool = False) -> list[str]:
    """Everything that is wrong with a whole stream; nothing where it is sound."""
    order = ChunkOrder(_official(), "text_completion", _TextChoice, usage=usage, continuous=continuous)
    return violations_of(stream, order)


@cache
def _official() -> TypeAdapter[Any]:
    return TypeAdapter(_Chunk)


class _TextChoice:
    def __init__(self) -> None:
        self.finished = False

    def take(self, choice: dict[str, Any]) -> Iterator[str]:
        """The four arrays are about the same tokens (S76)."""
        if "delta" in choice or "message" in choice:
            yield "a chat's delta in a completion"
        rows = choice.get("logprobs")
        if rows is not None:
            if len({len(rows[key]) for key in ("tokens", "token_logprobs", "top_logprobs", "text_offset")}) != 1:
                yield "arrays of different lengths"
            if "".join(rows["tokens"]) != choice["text"]:
                yield "the tokens of a chunk are not its text"
