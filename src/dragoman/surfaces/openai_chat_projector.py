"""The shape of Chat Completions' answers: events into ``chat.completion.chunk``, or into one ``chat.completion``."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, assert_never

from dragoman.core.errors import ServiceError
from dragoman.core.events import (
    Accepted,
    ChoiceFinished,
    Finished,
    GenerationEvent,
    PromptRead,
    ReasoningDelta,
    TextDelta,
    ToolCallArguments,
    ToolCallBegun,
    ToolCallEnded,
)
from dragoman.core.json import Json, JsonObject
from dragoman.core.request import Readout
from dragoman.surfaces.base import Call, ServerEvent, Stamp
from dragoman.surfaces.openai_logprobs import chat_rows, prompt_fields, token_ids
from dragoman.surfaces.openai_stream import ChunkTemplate, Reply, choice_count, ending

_Field: TypeAlias = Literal["content", "reasoning_content"]

_OPENING: Final[JsonObject] = {"role": "assistant", "content": "", "refusal": None}


class ChatProjector:
    """One answer as ``chat.completion.chunk`` events, or as one ``chat.completion``."""

    def __init__(self, call: Call, stamp: Stamp) -> None:
        self._reply = Reply(call, stamp, prefix="chatcmpl-", kind="chat.completion.chunk")
        self._readout = call.operation.readout
        self._choices = tuple(_Choice(index, self._readout) for index in range(choice_count(call.operation)))
        self._prompt: dict[str, Json] = {}

    def feed(self, event: GenerationEvent) -> list[ServerEvent]:
        """The role of every choice first, then text, then the reason of each end, usage where asked for, and ``[DONE]``."""
        match event:
            case TextDelta():
                return self._delta("content", event)
            case ReasoningDelta():
                return self._delta("reasoning_content", event)
            case PromptRead():
                return self._prompt_read(event)
            case ChoiceFinished(choice=index):
                self._reply.count(event)
                return [self._reply.chunk(self._choices[index].finish(event))]
            case Accepted():
                self._reply.accept(event)
                return [self._reply.chunk(choice.chunk(_OPENING)) for choice in self._choices]
            case Finished(usage=usage):
                return self._reply.finish(usage)
            case ToolCallBegun() | ToolCallArguments() | ToolCallEnded():
                return []
            case _:
                assert_never(event)

    def fail(self, error: ServiceError) -> list[ServerEvent]:
        """One error event, and no ``[DONE]``."""
        return self._reply.fail(error)

    def result(self) -> JsonObject:
        """The ``chat.completion``. Raises ``RuntimeError`` before the end."""
        return self._reply.whole("chat.completion", [choice.whole() for choice in self._choices], **self._prompt)

    def _delta(self, field: _Field, event: TextDelta | ReasoningDelta) -> list[ServerEvent]:
        choice = self._choices[event.choice]
        if not self._reply.plain:
            self._reply.count(event)
            recorded = choice.recorded(field, event)
            return [] if recorded is None else [self._reply.chunk(recorded)]
        choice.said[field].append(event.text)
        template = choice.templates.get(field)
        if template is None:
            template = choice.templates[field] = self._reply.template(choice.chunk({field: ChunkTemplate.HOLE}))
        return [template.fill(event.text)]

    def _prompt_read(self, event: PromptRead) -> list[ServerEvent]:
        """All choices have the same prompt, so it is reported once, beside the first that read it."""
        fields = {} if self._prompt else prompt_fields(event, self._readout)
        self._prompt |= fields
        return [self._reply.chunk(self._choices[event.choice].chunk({}), **fields)] if fields else []


class _Choice:
    """One choice: its chunks, and what they came to."""

    def __init__(self, index: int, readout: Readout) -> None:
        self.said: dict[_Field, list[str]] = {"content": [], "reasoning_content": []}
        self.templates: dict[_Field, ChunkTemplate] = {}
        self._index = index
        self._readout = readout
        self._rows: list[Json] = []
        self._ids: list[Json] = []
        self._finished: ChoiceFinished | None = None

    def chunk(self, delta: JsonObject, rows: list[Json] | None = None) -> dict[str, Json]:
        """A chunk's choice. The reason is null until it is known, never absent: clients test the key."""
        return {"index": self._index, "delta": delta, "logprobs": _logprobs(rows), "finish_reason": None}

    def recorded(self, field: _Field, event: TextDelta | ReasoningDelta) -> JsonObject | None:
        """The chunk of a delta with what was asked for of its tokens; None where that is nothing.

        Reasoning is not described by rows (S83).
        """
        self.said[field].append(event.text)
        count = self._readout.logprobs
        rows = None if count is None or field != "content" else chat_rows(event.tokens, count)
        ids = token_ids(event.tokens) if self._readout.token_ids else []
        if not (event.text or rows or ids):
            return None
        self._rows += rows or ()
        self._ids += ids
        choice = self.chunk({field: event.text}, rows)
        return {**choice, "token_ids": ids} if self._readout.token_ids else choice

    def finish(self, event: ChoiceFinished) -> JsonObject:
        """The last chunk."""
        self._finished = event
        return {**self.chunk({}), **ending(event)}

    def whole(self) -> JsonObject:
        """The choice of a ``chat.completion``. Raises ``RuntimeError`` before its end."""
        message: dict[str, Json] = {
            "role": "assistant",
            "content": "".join(self.said["content"]),
            "refusal": None,
            "annotations": [],
        }
        if reasoning := "".join(self.said["reasoning_content"]):
            message["reasoning_content"] = reasoning
        choice: dict[str, Json] = {
            "index": self._index,
            "message": message,
            "logprobs": None if self._readout.logprobs is None else _logprobs(self._rows),
            **ending(self._finished),
        }
        if self._readout.token_ids:
            choice["token_ids"] = self._ids
        return choice


def _logprobs(rows: list[Json] | None) -> Json:
    return None if rows is None else {"content": rows, "refusal": None}
