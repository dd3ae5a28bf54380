"""The shape of Responses' answers: events into the named and numbered events of one response, or into its object.

Items come in the order in which the model makes them: what is thought, said or called next begins a new one where it is of another
kind than the last.
"""

from __future__ import annotations

from collections.abc import Callable
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
    ToolCallArguments,
    ToolCallBegun,
    ToolCallEnded,
    Usage,
)
from dragoman.core.json import Json, JsonObject
from dragoman.surfaces.base import ServerEvent, Stamp
from dragoman.surfaces.openai_errors import error_object
from dragoman.surfaces.openai_logprobs import chat_rows
from dragoman.surfaces.openai_stream import DONE, KEEPALIVE
from dragoman.surfaces.responses_call import CallableTool, ResponsesCall
from dragoman.surfaces.responses_events import EventSequence
from dragoman.surfaces.responses_object import ResponseObject, ResponseStatus
from dragoman.surfaces.responses_output import (
    CustomCallItem,
    FunctionCallItem,
    ItemStatus,
    MessageItem,
    OutputItem,
    Place,
    ReasoningItem,
)


class ResponsesProjector:
    """One answer as a stream of response events, or as one ``response``.

    ``clock`` gives Unix seconds. With ``queued`` the response is told of before the engine has taken it, because its id is already
    known to somebody.
    """

    def __init__(self, call: ResponsesCall, stamp: Stamp, *, clock: Callable[[], float], queued: bool = False) -> None:
        self._call = call
        self._stamp = stamp
        self._clock = clock
        self._events = EventSequence()
        self._response = ResponseObject(stamp, call.echo, queued=queued)
        self._items: list[OutputItem] = []
        self._open: OutputItem | None = None
        self._created = False
        self._rows: list[Json] = []

    @property
    def id(self) -> str:
        """What the client calls the response."""
        return self._response.id

    @property
    def status(self) -> ResponseStatus:
        """How far the response is."""
        return self._response.status

    @property
    def output_items(self) -> list[JsonObject]:
        """The items so far, as the object has them."""
        return [item.object() for item in self._items]

    def opening(self) -> list[ServerEvent]:
        """What can be told before the engine has taken a response that waits for it. Nothing the second time."""
        if self.status != "queued" or self._created:
            return []
        return [self._create(), self._state("response.queued")]

    def feed(self, event: GenerationEvent) -> list[ServerEvent]:
        """The response and each of its items from beginning to end, then the response as it ended, and ``[DONE]``."""
        match event:
            case TextDelta():
                return self._say(event)
            case ReasoningDelta(text=text):
                return self._think(text) if text else []
            case ToolCallArguments(text=text):
                return self._opened_call().add(text)
            case ToolCallBegun(name=name):
                return self._begin(self._called(name))
            case ToolCallEnded():
                return self._finish("completed")
            case ChoiceFinished(reason=reason):
                self._response.stop(reason)
                return self._finish("incomplete" if self._cut(reason) else "completed")
            case PromptRead():
                return []
            case Accepted():
                return self._accept()
            case Finished(usage=usage):
                return self._end(usage)
            case _:
                assert_never(event)

    def fail(self, error: ServiceError) -> list[ServerEvent]:
        """The error in both shapes that there are (wire.md 0.4), then ``response.failed`` and ``[DONE]``.

        The item that was open is in the response, incomplete; that it was done is not said.
        """
        opening = [] if self._created else [self._create()]
        told = error_object(error, self._call.spelling)
        flat = {name: value for name, value in told.items() if name != "type"}
        self._leave()
        self._response.fail(error)
        return [*opening, self._events.make("error", **flat, error=told), self._state("response.failed"), DONE]

    def cancelled(self) -> list[ServerEvent]:
        """Somebody asked to stop. No contract has an event of that name, and nothing failed: the response is told as incomplete.

        Its ``status`` says what it is; there are no ``incomplete_details``, for none of OpenAI's reasons is right.
        """
        opening = [] if self._created else [self._create()]
        self._leave()
        self._response.cancel()
        return [*opening, self._state("response.incomplete"), DONE]

    def keepalive(self) -> bytes:
        """The response as it is now, as the next event (peers.md 100); a comment before there is one, and after the last."""
        goes_on = self._created and self.status in ("queued", "in_progress")
        return self.beat().encode() if goes_on else KEEPALIVE

    def beat(self) -> ServerEvent:
        """The event of a keep-alive, for those who keep or frame events themselves: before there was any, that it is created.

        It has the next number, so all that was made before must be sent before; and it is legal until the response has ended.
        """
        if not self._created:
            return self._create()
        return self._state("response.queued" if self.status == "queued" else "response.in_progress")

    def result(self) -> JsonObject:
        """The response, at any time."""
        return self._response.told(self.output_items)

    def _create(self) -> ServerEvent:
        self._created = True
        return self._state("response.created")

    def _accept(self) -> list[ServerEvent]:
        opening = self.opening()
        self._response.status = "in_progress"
        if not self._created:
            opening = [self._create()]
        return [*opening, self._state("response.in_progress")]

    def _end(self, usage: Usage) -> list[ServerEvent]:
        self._response.finish(usage, self._clock())
        return [self._state(f"response.{self.status}"), DONE]

    def _state(self, kind: str) -> ServerEvent:
        return self._events.make(kind, response=self.result())

    def _say(self, event: TextDelta) -> list[ServerEvent]:
        """Text goes on in its message, or begins one. Rows without text wait for some, unless their message is there."""
        rows = self._described(event) if self._call.logprobs else None
        if isinstance(self._open, MessageItem):
            return [self._open.add(event.text, rows)] if event.text or rows else []
        if not event.text:
            self._rows += rows or ()
            return []
        message = MessageItem(self._place())
        opening = self._begin(message)
        waited, self._rows = self._rows, []
        return [*opening, message.add(event.text, [*waited, *(rows or ())])]

    def _described(self, event: TextDelta) -> list[Json]:
        return chat_rows(event.tokens, self._call.operation.readout.logprobs or 0)

    def _think(self, text: str) -> list[ServerEvent]:
        if isinstance(self._open, ReasoningItem):
            return [self._open.add(text)]
        reasoning = ReasoningItem(self._place(), summary=self._call.summaries, encrypted=self._call.encrypted)
        opening = self._begin(reasoning)
        return [*opening, reasoning.add(text)]

    def _called(self, name: str) -> OutputItem:
        tool = self._call.tools.get(name, CallableTool(name=name))
        return (CustomCallItem if tool.kind == "custom" else FunctionCallItem)(self._place(), tool)

    def _opened_call(self) -> FunctionCallItem | CustomCallItem:
        if not isinstance(self._open, FunctionCallItem | CustomCallItem):
            raise RuntimeError("arguments came outside of a call")
        return self._open

    def _cut(self, reason: FinishReason) -> bool:
        """Whether the budget ended what is open. A call that is still open was cut in any case."""
        return reason is FinishReason.LENGTH or isinstance(self._open, FunctionCallItem | CustomCallItem)

    def _place(self) -> Place:
        return Place(sequence=self._events, response=self._stamp.id, index=len(self._items))

    def _begin(self, item: OutputItem) -> list[ServerEvent]:
        """The item that was open is over."""
        ending = self._finish("completed")
        self._items.append(item)
        self._open = item
        return [*ending, item.events.added(item.object()), *item.begin()]

    def _finish(self, status: ItemStatus) -> list[ServerEvent]:
        item, self._open = self._open, None
        if item is None:
            return []
        inside = item.finish(cut=status == "incomplete")
        item.status = status
        return [*inside, item.events.done(item.object())]

    def _leave(self) -> None:
        if self._open is not None:
            self._open.status = "incomplete"
            self._open = None
