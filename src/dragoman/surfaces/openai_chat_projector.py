"""The shape of Chat Completions' answers: events into ``chat.completion.chunk``, or into one ``chat.completion``."""

from __future__ import annotations

from typing import assert_never

from dragoman.core.errors import ServiceError
from dragoman.core.events import (
    Accepted,
    ChoiceFinished,
    Finished,
    FinishReason,
    GenerationEvent,
    PromptRead,
    ReasoningDelta,
    TextDelta,
)
from dragoman.core.json import JsonObject
from dragoman.surfaces.base import Call, ServerEvent, Stamp
from dragoman.surfaces.openai_stream import (
    ChunkTemplate,
    chunk,
    ending,
    failure,
    finish_word,
    header,
    sse,
    usage_object,
)


class ChatProjector:
    """One answer as ``chat.completion.chunk`` events, or as one ``chat.completion``."""

    def __init__(self, call: Call, stamp: Stamp) -> None:
        self._call = call
        self._stamp = stamp
        self._id = f"chatcmpl-{call.request_id or stamp.id}"
        self._head = header("chat.completion.chunk", self._id, stamp)
        self._content = ChunkTemplate(self._chunk({"content": ChunkTemplate.HOLE}))
        self._text: list[str] = []
        self._reason: FinishReason | None = None
        self._finished: Finished | None = None

    def feed(self, event: GenerationEvent) -> list[ServerEvent]:
        """The role first, then text, then the reason of the end, usage where asked for, and ``[DONE]``."""
        match event:
            case TextDelta(text=text):
                self._text.append(text)
                return [self._content.fill(text)]
            case PromptRead() | ReasoningDelta():
                return []
            case ChoiceFinished(reason=reason):
                self._reason = reason
                return [sse(chunk(self._head, [_choice({}, finish_word(reason))], self._call))]
            case Accepted():
                return [sse(self._chunk({"role": "assistant", "content": "", "refusal": None}))]
            case Finished(usage=usage):
                self._finished = event
                return ending(self._head, self._call, usage)
            case _:
                assert_never(event)

    def fail(self, error: ServiceError) -> list[ServerEvent]:
        """One error event, and no ``[DONE]``."""
        return failure(error, self._call)

    def result(self) -> JsonObject:
        """The ``chat.completion``."""
        if self._finished is None or self._reason is None:
            raise RuntimeError("the answer has not finished")
        choice: JsonObject = {
            "index": 0,
            "message": {"role": "assistant", "content": "".join(self._text), "refusal": None, "annotations": []},
            "logprobs": None,
            "finish_reason": finish_word(self._reason),
        }
        return {
            **header("chat.completion", self._id, self._stamp),
            "choices": [choice],
            "usage": usage_object(self._finished.usage),
        }

    def _chunk(self, delta: JsonObject) -> JsonObject:
        return chunk(self._head, [_choice(delta, None)], self._call)


def _choice(delta: JsonObject, finish_reason: str | None) -> JsonObject:
    # The reason is null until it is known, never absent: clients test the key.
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
