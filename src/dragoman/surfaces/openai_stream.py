"""What the streams and the final objects of OpenAI's two generation surfaces have in common."""

from __future__ import annotations

from typing import Final, assert_never

import msgspec

from dragoman.core.errors import ServiceError
from dragoman.core.events import FinishReason, Usage
from dragoman.core.json import Json, JsonObject
from dragoman.surfaces.base import Call, ServerEvent, Stamp
from dragoman.surfaces.openai_errors import envelope

DONE: Final = ServerEvent(b"[DONE]")
KEEPALIVE: Final = b": keep-alive\n\n"
"""An SSE comment, which every known client skips."""

encode: Final = msgspec.json.Encoder().encode


class ChunkTemplate:
    """A chunk of which only one string changes from token to token; the rest is encoded once.

    Built from a whole chunk with ``HOLE`` in the place of the string, so that the fast chunks cannot have another
    shape than the others.
    """

    HOLE: Final = "\0"

    __slots__ = ("_head", "_tail")

    def __init__(self, chunk: JsonObject) -> None:
        # The last match: what stands before it came from the client or the operator, what follows is ours.
        self._head, _, self._tail = encode(chunk).rpartition(encode(self.HOLE))

    def fill(self, text: str) -> ServerEvent:
        """The chunk with this text."""
        return ServerEvent(self._head + encode(text) + self._tail)


def sse(value: JsonObject) -> ServerEvent:
    """An object as an unnamed event."""
    return ServerEvent(encode(value))


def failure(error: ServiceError, call: Call) -> list[ServerEvent]:
    """The end of a committed stream that failed: the error, and no ``[DONE]``, which would call it complete."""
    return [sse(envelope(error, call))]


def finish_word(reason: FinishReason) -> str:
    """OpenAI's word for the end."""
    match reason:
        case FinishReason.STOP:
            return "stop"
        case FinishReason.LENGTH:
            return "length"
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


def header(kind: str, reply_id: str, stamp: Stamp) -> dict[str, Json]:
    """What every object of one answer begins with (S51)."""
    return {
        "id": reply_id,
        "object": kind,
        "created": stamp.created,
        "model": stamp.model,
        "system_fingerprint": stamp.fingerprint,
    }


def chunk(head: JsonObject, choices: list[Json], call: Call, usage: Usage | None = None) -> JsonObject:
    """One chunk. Where usage was asked for, each chunk has the key, and only the last one the numbers (S53)."""
    if not call.include_usage:
        return {**head, "choices": choices}
    return {**head, "choices": choices, "usage": None if usage is None else usage_object(usage)}


def ending(head: JsonObject, call: Call, usage: Usage) -> list[ServerEvent]:
    """The end of a stream: usage where asked for, ``[DONE]``."""
    return [sse(chunk(head, [], call, usage)), DONE] if call.include_usage else [DONE]
