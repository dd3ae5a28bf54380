"""The output items of a response: messages, reasoning, and calls of functions and of custom tools.

An item makes the events that tell of its inside, and is itself what they add up to (peers.md 91). That it begins and ends is told by
whoever keeps the list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from dragoman.core.json import Json, JsonObject
from dragoman.surfaces.base import ServerEvent
from dragoman.surfaces.custom_input import CustomInput
from dragoman.surfaces.responses_call import CallableTool
from dragoman.surfaces.responses_events import EventSequence, ItemEvents
from dragoman.surfaces.responses_parts import OUTPUT_TEXT, REASONING_TEXT, SUMMARY_TEXT, StreamedPart
from dragoman.surfaces.sealed import seal

ItemStatus: TypeAlias = Literal["in_progress", "completed", "incomplete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The ``index``-th place in the output of the response with this id. An item's ids follow from its place, and never change."""

    sequence: EventSequence
    response: str
    index: int

    def id(self, prefix: str) -> str:
        """The id of the item here, or of its call."""
        return f"{prefix}_{self.response}_{self.index}"

    def events(self, item_id: str) -> ItemEvents:
        """What makes the events of the item here."""
        return ItemEvents(self.sequence, item_id, self.index)


class OutputItem(Protocol):
    """One item as it comes about."""

    status: ItemStatus

    @property
    def events(self) -> ItemEvents:
        """What makes its events."""
        ...

    def begin(self) -> list[ServerEvent]:
        """What opens its inside."""
        ...

    def finish(self, *, cut: bool) -> list[ServerEvent]:
        """What closes its inside; ``cut``: it was not over."""
        ...

    def object(self) -> JsonObject:
        """The item now."""
        ...


class MessageItem:
    """Text that the model says."""

    def __init__(self, place: Place) -> None:
        self.status: ItemStatus = "in_progress"
        self._id = place.id("msg")
        self.events = place.events(self._id)
        self._part = StreamedPart(OUTPUT_TEXT, self.events)

    def begin(self) -> list[ServerEvent]:
        """Its one part."""
        return [self._part.begin()]

    def add(self, text: str, rows: list[Json] | None) -> ServerEvent:
        """More text, with the rows of its tokens where log-probabilities were asked for."""
        return self._part.add(text, rows)

    def finish(self, *, cut: bool) -> list[ServerEvent]:
        """The text as it is."""
        return self._part.finish(cut=cut)

    def object(self) -> JsonObject:
        """As ``openai.types.responses.ResponseOutputMessage``."""
        return {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "status": self.status,
            "content": self._part.objects(),
        }


class ReasoningItem:
    """What the model thinks. As a ``summary`` it is told to those who asked for one: the whole thought is its own summary.

    ``encrypted``: the client carries it for the model. The key is there once the thought is over, and never null (wire.md 0.3).
    """

    def __init__(self, place: Place, *, summary: bool, encrypted: bool) -> None:
        self.status: ItemStatus = "in_progress"
        self._id = place.id("rs")
        self.events = place.events(self._id)
        self._summary = summary
        self._encrypted = encrypted
        self._part = StreamedPart(SUMMARY_TEXT if summary else REASONING_TEXT, self.events)

    def begin(self) -> list[ServerEvent]:
        """Its one part."""
        return [self._part.begin()]

    def add(self, text: str) -> ServerEvent:
        """More of the thought."""
        return self._part.add(text)

    def finish(self, *, cut: bool) -> list[ServerEvent]:
        """The thought as it is."""
        return self._part.finish(cut=cut)

    def object(self) -> JsonObject:
        """As ``openai.types.responses.ResponseReasoningItem``."""
        parts = self._part.objects()
        item: dict[str, Json] = {
            "id": self._id,
            "type": "reasoning",
            "status": self.status,
            "summary": parts if self._summary else [],
        }
        if not self._summary:
            item["content"] = parts
        if self._encrypted and self.status != "in_progress":
            item["encrypted_content"] = seal(self._part.text)
        return item


class FunctionCallItem:
    """A call of a function. A call that was cut has no event that calls its arguments done: somebody might act on them (S57)."""

    def __init__(self, place: Place, tool: CallableTool) -> None:
        self.status: ItemStatus = "in_progress"
        self._head = _call_head(place, "fc", "function_call", tool)
        self.events = place.events(place.id("fc"))
        self._name = tool.name
        self._arguments: list[str] = []
        self._deltas = self.events.deltas("response.function_call_arguments.delta")

    def begin(self) -> list[ServerEvent]:
        """Nothing."""
        return []

    def add(self, text: str) -> list[ServerEvent]:
        """More of the arguments."""
        self._arguments.append(text)
        return [self._deltas.make(text)]

    def finish(self, *, cut: bool) -> list[ServerEvent]:
        """The arguments, with the name, which OpenAI's specification requires here. Without any they are an empty object."""
        if cut:
            return []
        empty = [] if any(self._arguments) else self.add("{}")
        arguments = "".join(self._arguments)
        done = self.events.make("response.function_call_arguments.done", name=self._name, arguments=arguments)
        return [*empty, done]

    def object(self) -> JsonObject:
        """As ``openai.types.responses.ResponseFunctionToolCall``."""
        return {**self._head, "status": self.status, "arguments": "".join(self._arguments)}


class CustomCallItem:
    """A call of a tool that takes text. The model called a function, out of whose arguments the text is taken."""

    def __init__(self, place: Place, tool: CallableTool) -> None:
        self.status: ItemStatus = "in_progress"
        self._head = _call_head(place, "ctc", "custom_tool_call", tool)
        self.events = place.events(place.id("ctc"))
        self._unwrap = CustomInput()
        self._input: list[str] = []
        self._deltas = self.events.deltas("response.custom_tool_call_input.delta")

    def begin(self) -> list[ServerEvent]:
        """Nothing."""
        return []

    def add(self, text: str) -> list[ServerEvent]:
        """The share of the input in this piece of the arguments."""
        return self._told(self._unwrap.feed(text))

    def finish(self, *, cut: bool) -> list[ServerEvent]:
        """The input, unless it was cut."""
        rest = self._told(self._unwrap.end())
        if cut:
            return rest
        return [*rest, self.events.make("response.custom_tool_call_input.done", input="".join(self._input))]

    def object(self) -> JsonObject:
        """As ``openai.types.responses.ResponseCustomToolCall``, with the status that every other item has, too."""
        return {**self._head, "status": self.status, "input": "".join(self._input)}

    def _told(self, text: str) -> list[ServerEvent]:
        if not text:
            return []
        self._input.append(text)
        return [self._deltas.make(text)]


def _call_head(place: Place, prefix: str, kind: str, tool: CallableTool) -> JsonObject:
    """What a call begins with. Codex finds a tool of a namespace by both names, and by nothing else (wire.md 0.7)."""
    head: dict[str, Json] = {"id": place.id(prefix), "type": kind, "call_id": place.id("call"), "name": tool.name}
    return head if tool.namespace is None else {**head, "namespace": tool.namespace}
