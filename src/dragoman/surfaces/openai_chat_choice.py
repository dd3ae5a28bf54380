"""One choice of a chat answer: the deltas of its chunks, and the message that they add up to."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from dragoman.core.events import (
    ChoiceFinished,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    ToolCallArguments,
    ToolCallBegun,
)
from dragoman.core.json import Json, JsonObject
from dragoman.surfaces.base import Call, Stamp
from dragoman.surfaces.chunk_template import ChunkTemplate
from dragoman.surfaces.openai_calls import CallForm, FunctionCallForm, MadeCall, ToolCallForm
from dragoman.surfaces.openai_logprobs import chat_rows, token_ids
from dragoman.surfaces.openai_stream import ending

OPENING: Final[JsonObject] = {"role": "assistant", "content": "", "refusal": None}
"""What a choice begins with: whether it will have text or calls alone is not known yet."""

ReasoningField: TypeAlias = Literal["reasoning_content", "reasoning", "both"]
"""What reasoning is called: no name is official, and clients read one of two."""

Source: TypeAlias = Literal["content", "reasoning"] | int
"""What a delta goes on with: the text, the reasoning, or the arguments of a call, by its index."""


class ChatChoice:
    """What was said so far, and how it is told. ``templates`` are its chunks of which only a text changes."""

    def __init__(self, index: int, call: Call, stamp: Stamp, *, reasoning: ReasoningField) -> None:
        self.templates: dict[Source, ChunkTemplate] = {}
        self._index = index
        self._readout = call.operation.readout
        self._call_id = f"call_{stamp.id}_{index}"
        self._named = call.named_call
        self._form: CallForm = FunctionCallForm() if call.function_call else ToolCallForm()
        self._reasoning = ("reasoning_content", "reasoning") if reasoning == "both" else (reasoning,)
        self._content: list[str] = []
        self._thoughts: list[str] = []
        self._calls: list[MadeCall] = []
        self._rows: list[Json] = []
        self._ids: list[Json] = []
        self._finished: ChoiceFinished | None = None

    def chunk(self, delta: JsonObject, rows: list[Json] | None = None) -> dict[str, Json]:
        """A chunk's choice. The reason is null until it is known, never absent: clients test the key."""
        return {"index": self._index, "delta": delta, "logprobs": _logprobs(rows), "finish_reason": None}

    def delta(self, source: Source, text: str) -> JsonObject:
        """The delta that appends to its source."""
        match source:
            case "content":
                return {"content": text}
            case "reasoning":
                return dict.fromkeys(self._reasoning, text)
            case index:
                return self._form.growth(index, text)

    def holes(self, source: Source) -> int:
        """How often the text stands in such a delta."""
        return len(self._reasoning) if source == "reasoning" else 1

    def add(self, event: TextDelta | ReasoningDelta | ToolCallArguments) -> Source:
        """Remember the text of an event."""
        match event:
            case TextDelta(text=text):
                self._content.append(text)
                return "content"
            case ReasoningDelta(text=text):
                self._thoughts.append(text)
                return "reasoning"
            case ToolCallArguments(index=index, text=text):
                self._calls[index].parts.append(text)
                return index

    def recorded(self, source: Source, event: TextDelta | ReasoningDelta | ToolCallArguments) -> JsonObject | None:
        """The chunk of a delta with what was asked for of its tokens; None where that is nothing.

        Neither reasoning nor calls are described by rows (S83).
        """
        delta = self.delta(source, event.text)
        if isinstance(event, ToolCallArguments):
            return self.chunk(delta)
        count = self._readout.logprobs
        rows = chat_rows(event.tokens, count) if count is not None and source == "content" else None
        ids = token_ids(event.tokens) if self._readout.token_ids else []
        if not (event.text or rows or ids):
            return None
        self._rows += rows or ()
        self._ids += ids
        choice = self.chunk(delta, rows)
        return {**choice, "token_ids": ids} if self._readout.token_ids else choice

    def begin(self, event: ToolCallBegun) -> JsonObject:
        """The chunk that names a function. Its call has an id like no other, and the same one in every shape of the answer."""
        call = MadeCall(f"{self._call_id}_{event.index}", event.name)
        self._calls.append(call)
        return self.chunk(self._form.opening(event.index, call))

    def finish(self, event: ChoiceFinished) -> JsonObject:
        """The last chunk."""
        self._finished = event
        return {**self.chunk({}), **self._ending()}

    def whole(self) -> JsonObject:
        """The choice of a ``chat.completion``. Raises ``RuntimeError`` before its end."""
        content = "".join(self._content)
        message: dict[str, Json] = {
            "role": "assistant",
            "content": None if self._calls and not content else content,
            "refusal": None,
            "annotations": [],
        }
        if thoughts := "".join(self._thoughts):
            message |= dict.fromkeys(self._reasoning, thoughts)
        if self._calls:
            message |= self._form.whole(self._calls)
        choice: dict[str, Json] = {
            "index": self._index,
            "message": message,
            "logprobs": None if self._readout.logprobs is None else _logprobs(self._rows),
            **self._ending(),
        }
        if self._readout.token_ids:
            choice["token_ids"] = self._ids
        return choice

    def _ending(self) -> dict[str, Json]:
        """A call that the client itself named is no decision of the model, and so an ordinary end (peers.md 31)."""
        end = ending(self._finished)
        if self._finished is not None and self._finished.reason is FinishReason.TOOL_CALLS:
            end["finish_reason"] = "stop" if self._named else self._form.finish_reason
        return end


def _logprobs(rows: list[Json] | None) -> Json:
    return None if rows is None else {"content": rows, "refusal": None}
