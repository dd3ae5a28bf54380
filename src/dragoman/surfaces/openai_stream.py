"""What the streams and the final objects of OpenAI's two generation surfaces have in common."""

from __future__ import annotations

from typing import Final, assert_never

import msgspec

from dragoman.core.errors import ServiceError
from dragoman.core.events import Accepted, ChoiceFinished, FinishReason, ReasoningDelta, TextDelta, ToolCallEvent, Usage
from dragoman.core.json import Json, JsonObject
from dragoman.core.request import Generate, PromptBatch
from dragoman.surfaces.base import Call, ServerEvent, Stamp
from dragoman.surfaces.chunk_template import ChunkTemplate
from dragoman.surfaces.openai_errors import envelope

DONE: Final = ServerEvent(b"[DONE]")
KEEPALIVE: Final = b": keep-alive\n\n"
"""An SSE comment, which every known client skips."""

encode: Final = msgspec.json.Encoder().encode


def sse(value: JsonObject) -> ServerEvent:
    """An object as an unnamed event."""
    return ServerEvent(encode(value))


def finish_word(reason: FinishReason) -> str:
    """OpenAI's word for the end."""
    match reason:
        case FinishReason.STOP:
            return "stop"
        case FinishReason.LENGTH:
            return "length"
        case FinishReason.TOOL_CALLS:
            return "tool_calls"
        case _:
            assert_never(reason)


def usage_object(usage: Usage) -> dict[str, Json]:
    """``usage`` with its details, which are present even at zero (S52)."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }


class Reply:
    """One answer around its choices: what each of its objects begins with, its usage, its end (S50, S51, S53).

    ``kind`` is the ``object`` of a chunk. ``plain``: nothing but text changes from chunk to chunk.
    """

    def __init__(self, call: Call, stamp: Stamp, *, prefix: str, kind: str) -> None:
        readout = call.operation.readout
        self._call = call
        self._head: dict[str, Json] = {
            "id": prefix + (call.request_id or stamp.id),
            "object": kind,
            "created": stamp.created,
            "model": stamp.model,
            "system_fingerprint": stamp.fingerprint,
        }
        self._counts = call.include_usage and call.continuous_usage
        self._accepted = Accepted(prompt_tokens=0)
        self._generated = [0] * choice_count(call.operation)
        self._reasoned = [0] * choice_count(call.operation)
        self._usage: Usage | None = None
        self.plain = readout.logprobs is None and not readout.token_ids and not self._counts

    def accept(self, event: Accepted) -> None:
        """The engine has read this much."""
        self._accepted = event

    def count(self, event: TextDelta | ReasoningDelta | ToolCallEvent | ChoiceFinished) -> None:
        """A choice has grown to this; all of it was reasoning, if this still is."""
        self._generated[event.choice] = max(event.generated, self._generated[event.choice])
        if isinstance(event, ReasoningDelta):
            self._reasoned[event.choice] = event.generated

    def template(self, choice: JsonObject, *, holes: int = 1) -> ChunkTemplate:
        """Chunks of a choice that has ``ChunkTemplate.HOLE`` somewhere; right only where the answer is ``plain``."""
        return ChunkTemplate(self._chunk([choice]), holes=holes)

    def chunk(self, choice: JsonObject, **fields: Json) -> ServerEvent:
        """A chunk of one choice, with further fields of its own."""
        return sse({**self._chunk([choice]), **fields})

    def finish(self, usage: Usage) -> list[ServerEvent]:
        """The end of a stream: usage where asked for, and ``[DONE]``."""
        self._usage = usage
        if not self._call.include_usage:
            return [DONE]
        return [sse({**self._head, "choices": [], "usage": usage_object(usage)}), DONE]

    def fail(self, error: ServiceError) -> list[ServerEvent]:
        """The end of a committed stream that failed: the error, and no ``[DONE]``, which would call it complete."""
        return [sse(envelope(error, self._call.spelling))]

    def whole(self, kind: str, choices: list[Json], **fields: Json) -> JsonObject:
        """The buffered object. Raises ``RuntimeError`` before the end."""
        if self._usage is None:
            raise RuntimeError("the answer has not finished")
        return {**self._head, "object": kind, "choices": choices, "usage": usage_object(self._usage), **fields}

    def _chunk(self, choices: list[Json]) -> dict[str, Json]:
        """Where usage was asked for, each chunk has the key: null, or what it is so far."""
        if not self._call.include_usage:
            return {**self._head, "choices": choices}
        return {**self._head, "choices": choices, "usage": self._usage_so_far() if self._counts else None}

    def _usage_so_far(self) -> JsonObject:
        return usage_object(
            Usage(
                prompt_tokens=self._accepted.prompt_tokens,
                completion_tokens=sum(self._generated),
                cached_tokens=self._accepted.cached_tokens,
                reasoning_tokens=sum(self._reasoned),
            )
        )


def choice_count(operation: Generate) -> int:
    """How many answers there will be."""
    prompts = len(operation.prompt.prompts) if isinstance(operation.prompt, PromptBatch) else 1
    return prompts * operation.n


def ending(finished: ChoiceFinished | None) -> dict[str, Json]:
    """Why a choice ended; ``stop_reason`` is vLLM's name for what it stopped at. Raises ``RuntimeError`` before its end."""
    if finished is None:
        raise RuntimeError("the answer has not finished")
    return {"finish_reason": finish_word(finished.reason), "stop_reason": finished.stop}
