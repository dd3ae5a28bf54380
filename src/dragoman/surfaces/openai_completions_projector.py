"""The shape of Completions' answers: events into ``text_completion`` chunks, or into one ``text_completion``."""

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
from dragoman.core.request import Readout
from dragoman.surfaces.base import Call, ServerEvent, Stamp
from dragoman.surfaces.chunk_template import ChunkTemplate
from dragoman.surfaces.openai_logprobs import CompletionLogprobs, prompt_fields, token_ids
from dragoman.surfaces.openai_stream import KEEPALIVE, Reply, choice_count, ending

KIND = "text_completion"


class CompletionProjector:
    """One answer as ``text_completion`` events, or as one ``text_completion``: a choice for each answer to each prompt."""

    def __init__(self, call: Call, stamp: Stamp) -> None:
        self._reply = Reply(call, stamp, prefix="cmpl-", kind=KIND)
        readout = call.operation.readout
        self._choices = tuple(_Choice(index, readout) for index in range(choice_count(call.operation)))

    def feed(self, event: GenerationEvent) -> list[ServerEvent]:
        """The prompt where it is echoed, text, then the reason of each end, usage where asked for, and ``[DONE]``."""
        match event:
            case TextDelta(choice=index):
                return self._delta(self._choices[index], event)
            case PromptRead(choice=index):
                choice = self._choices[index].read(event)
                return [] if choice is None else [self._reply.chunk(choice)]
            case ChoiceFinished(choice=index):
                self._reply.count(event)
                return [self._reply.chunk(self._choices[index].finish(event))]
            case Accepted():
                self._reply.accept(event)
                return []
            case ReasoningDelta():
                return []  # who writes the template reads the answer as it stands: nothing is sorted out of it
            case Finished(usage=usage):
                return self._reply.finish(usage)
            case ToolCallBegun() | ToolCallArguments() | ToolCallEnded():
                return []
            case _:
                assert_never(event)

    def fail(self, error: ServiceError) -> list[ServerEvent]:
        """One error event, and no ``[DONE]``."""
        return self._reply.fail(error)

    def keepalive(self) -> bytes:
        """A comment: the contract has no event for it."""
        return KEEPALIVE

    def result(self) -> JsonObject:
        """The ``text_completion``. Raises ``RuntimeError`` before the end."""
        return self._reply.whole(KIND, [choice.whole() for choice in self._choices])

    def _delta(self, choice: _Choice, event: TextDelta) -> list[ServerEvent]:
        if not self._reply.plain:
            self._reply.count(event)
            recorded = choice.recorded(event)
            return [] if recorded is None else [self._reply.chunk(recorded)]
        choice.said.append(event.text)
        if choice.template is None:
            choice.template = self._reply.template(choice.chunk(ChunkTemplate.HOLE))
        return [choice.template.fill(event.text)]


class _Choice:
    """One choice: its chunks, and what they came to."""

    def __init__(self, index: int, readout: Readout) -> None:
        self.said: list[str] = []
        self.template: ChunkTemplate | None = None
        self._index = index
        self._readout = readout
        self._logprobs = None if readout.logprobs is None else CompletionLogprobs(readout.logprobs)
        self._prompt: dict[str, Json] = {}
        self._ids: list[Json] = []
        self._finished: ChoiceFinished | None = None

    def chunk(self, text: str, logprobs: Json = None) -> dict[str, Json]:
        """A chunk's choice. The reason is null until it is known, never absent: clients test the key."""
        return {"index": self._index, "text": text, "logprobs": logprobs, "finish_reason": None}

    def read(self, event: PromptRead) -> JsonObject | None:
        """The chunk of a prompt, which leads the text and the arrays where it is echoed; None where nothing was asked for."""
        self.said.append(event.text)
        self._prompt = prompt_fields(event, self._readout)
        echoed = self._logprobs is not None and self._readout.echo and bool(event.tokens)
        if not (event.text or echoed or self._prompt):
            return None
        arrays = self._logprobs.add(event.tokens) if self._logprobs is not None and echoed else None
        return {**self.chunk(event.text, arrays), **self._prompt}

    def recorded(self, event: TextDelta) -> JsonObject | None:
        """The chunk of a delta with what was asked for of its tokens; None where that is nothing."""
        self.said.append(event.text)
        arrays = None if self._logprobs is None else self._logprobs.add(event.tokens)
        ids = token_ids(event.tokens) if self._readout.token_ids else []
        if not (event.text or ids or (arrays and arrays["tokens"])):
            return None
        self._ids += ids
        choice = self.chunk(event.text, arrays)
        return {**choice, "token_ids": ids} if self._readout.token_ids else choice

    def finish(self, event: ChoiceFinished) -> JsonObject:
        """The last chunk."""
        self._finished = event
        return {**self.chunk(""), **ending(event)}

    def whole(self) -> JsonObject:
        """The choice of a buffered ``text_completion``. Raises ``RuntimeError`` before its end."""
        choice: dict[str, Json] = {
            "index": self._index,
            "text": "".join(self.said),
            "logprobs": None if self._logprobs is None else self._logprobs.whole,
            **ending(self._finished),
            **self._prompt,
        }
        if self._readout.token_ids:
            choice["token_ids"] = self._ids
        return choice
