"""The shape of Completions' answers: events into ``text_completion`` chunks, or into one ``text_completion``."""

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


class CompletionProjector:
    """One answer as ``text_completion`` events, or as one ``text_completion``."""

    def __init__(self, call: Call, stamp: Stamp) -> None:
        self._call = call
        self._head = header("text_completion", f"cmpl-{call.request_id or stamp.id}", stamp)
        self._piece = ChunkTemplate(chunk(self._head, [_choice(ChunkTemplate.HOLE, None)], call))
        self._text: list[str] = []
        self._reason: FinishReason | None = None
        self._finished: Finished | None = None

    def feed(self, event: GenerationEvent) -> list[ServerEvent]:
        """Text, then the reason of the end, usage where asked for, and ``[DONE]``."""
        match event:
            case TextDelta(text=text):
                self._text.append(text)
                return [self._piece.fill(text)]
            case PromptRead() | ReasoningDelta():
                return []
            case ChoiceFinished(reason=reason):
                self._reason = reason
                return [sse(chunk(self._head, [_choice("", finish_word(reason))], self._call))]
            case Accepted():
                return []
            case Finished(usage=usage):
                self._finished = event
                return ending(self._head, self._call, usage)
            case _:
                assert_never(event)

    def fail(self, error: ServiceError) -> list[ServerEvent]:
        """One error event, and no ``[DONE]``."""
        return failure(error, self._call)

    def result(self) -> JsonObject:
        """The ``text_completion``."""
        if self._finished is None or self._reason is None:
            raise RuntimeError("the answer has not finished")
        choice = _choice("".join(self._text), finish_word(self._reason))
        return {**self._head, "choices": [choice], "usage": usage_object(self._finished.usage)}


def _choice(text: str, finish_reason: str | None) -> JsonObject:
    return {"index": 0, "text": text, "logprobs": None, "finish_reason": finish_reason}
