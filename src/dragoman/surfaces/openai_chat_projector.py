"""The shape of Chat Completions' answers: events into ``chat.completion.chunk``, or into one ``chat.completion``."""

from __future__ import annotations

from typing import assert_never

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
from dragoman.surfaces.base import Call, ServerEvent, Stamp
from dragoman.surfaces.chunk_template import ChunkTemplate
from dragoman.surfaces.openai_chat_choice import OPENING, ChatChoice, ReasoningField
from dragoman.surfaces.openai_logprobs import prompt_fields
from dragoman.surfaces.openai_stream import KEEPALIVE, Reply, choice_count


class ChatProjector:
    """One answer as ``chat.completion.chunk`` events, or as one ``chat.completion``. ``reasoning`` names the field of that name."""

    def __init__(self, call: Call, stamp: Stamp, *, reasoning: ReasoningField = "reasoning_content") -> None:
        self._reply = Reply(call, stamp, prefix="chatcmpl-", kind="chat.completion.chunk")
        self._readout = call.operation.readout
        self._choices = tuple(
            ChatChoice(index, call, stamp, reasoning=reasoning) for index in range(choice_count(call.operation))
        )
        self._prompt: dict[str, Json] = {}

    def feed(self, event: GenerationEvent) -> list[ServerEvent]:
        """The role of every choice first, then text and calls, the reason of each end, usage where asked for, and ``[DONE]``."""
        match event:
            case TextDelta() | ReasoningDelta() | ToolCallArguments():
                return self._grow(self._choices[event.choice], event)
            case ToolCallBegun(choice=index):
                self._reply.count(event)
                return [self._reply.chunk(self._choices[index].begin(event))]
            case ToolCallEnded():
                self._reply.count(event)
                return []
            case PromptRead():
                return self._prompt_read(event)
            case ChoiceFinished(choice=index):
                self._reply.count(event)
                return [self._reply.chunk(self._choices[index].finish(event))]
            case Accepted():
                self._reply.accept(event)
                return [self._reply.chunk(choice.chunk(OPENING)) for choice in self._choices]
            case Finished(usage=usage):
                return self._reply.finish(usage)
            case _:
                assert_never(event)

    def fail(self, error: ServiceError) -> list[ServerEvent]:
        """One error event, and no ``[DONE]``."""
        return self._reply.fail(error)

    def keepalive(self) -> bytes:
        """A comment: the contract has no event for it."""
        return KEEPALIVE

    def result(self) -> JsonObject:
        """The ``chat.completion``. Raises ``RuntimeError`` before the end."""
        return self._reply.whole("chat.completion", [choice.whole() for choice in self._choices], **self._prompt)

    def _grow(self, choice: ChatChoice, event: TextDelta | ReasoningDelta | ToolCallArguments) -> list[ServerEvent]:
        source = choice.add(event)
        if not self._reply.plain:
            self._reply.count(event)
            recorded = choice.recorded(source, event)
            return [] if recorded is None else [self._reply.chunk(recorded)]
        template = choice.templates.get(source)
        if template is None:
            chunk = choice.chunk(choice.delta(source, ChunkTemplate.HOLE))
            template = choice.templates[source] = self._reply.template(chunk, holes=choice.holes(source))
        return [template.fill(event.text)]

    def _prompt_read(self, event: PromptRead) -> list[ServerEvent]:
        """All choices have the same prompt, so it is reported once, beside the first that read it."""
        fields = {} if self._prompt else prompt_fields(event, self._readout)
        self._prompt |= fields
        return [self._reply.chunk(self._choices[event.choice].chunk({}), **fields)] if fields else []
