"""What a stream of Responses may do: wire.md section 3, peers.md 90 to 94, 99 and 100, and the types of OpenAI's SDK."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from support.event_order.order import mismatches, violations_of
from support.event_order.response_items import ItemOrder
from support.event_order.sse import DONE, Event

_TERMINAL = {"response.completed", "response.incomplete", "response.failed"}
_STATES = {"response.created", "response.queued", "response.in_progress", *_TERMINAL}


def violations(stream: bytes, *, after: int | None = None) -> list[str]:
    """Everything that is wrong with a whole stream, or with one that was resumed behind the event number ``after``.

    Of a resumed stream, no more is known than its numbers and its end.
    """
    return violations_of(stream, _ResponsesOrder(after))


@cache
def _official() -> TypeAdapter[Any]:
    return TypeAdapter(ResponseStreamEvent)


class _ResponsesOrder:
    def __init__(self, after: int | None) -> None:
        self._next = 0 if after is None else after + 1
        self._resumed = after is not None
        self._id: str | None = None
        self._states: list[str] = []
        self._items = ItemOrder()
        self._failed = False
        self._done = False

    def take(self, event: Event) -> Iterator[str]:
        value = event.value
        if self._done:
            yield "something follows [DONE]"
        elif value == DONE:
            self._done = True
            if not self._ended:
                yield "before the response has ended"
        elif not isinstance(value, dict):
            yield "not an object"
        else:
            yield from self._numbered(event.name, value)

    def _numbered(self, name: str | None, value: dict[str, Any]) -> Iterator[str]:
        if name != value.get("type"):
            yield f"the event is called {name}"
        if self._ended:
            yield "after the response has ended"
        if value.get("sequence_number") != self._next:
            yield f"number {value.get('sequence_number')} in the place of {self._next}"
        self._next += 1
        wrong = mismatches(value, _official())
        yield from wrong or self._official_event(value["type"], value)

    def _official_event(self, kind: str, value: dict[str, Any]) -> Iterator[str]:
        if not self._states and not self._resumed and kind != "response.created":
            yield "before response.created"
        if kind == "error":
            yield from self._error(value)
        elif self._failed and kind != "response.failed":
            yield "after an error"
        elif kind in _STATES:
            yield from self._state(kind, value["response"])
        elif not self._resumed:
            if "response.in_progress" not in self._states:
                yield "before response.in_progress"
            yield from self._items.take(kind, value)

    def end(self) -> Iterator[str]:
        if not self._ended:
            yield "the response has not ended"
        if not self._done:
            yield "[DONE] did not come"

    @property
    def _ended(self) -> bool:
        return bool(_TERMINAL & set(self._states))

    def _error(self, value: dict[str, Any]) -> Iterator[str]:
        """In OpenAI's shape, which the official type has, and in that of Open Responses (wire.md 0.4)."""
        self._failed = True
        nested = value.get("error")
        if not isinstance(nested, dict) or not {"type", "code", "message", "param"} <= set(nested):
            yield "an error without the object of Open Responses"
        elif nested["message"] != value["message"]:
            yield "an error that says two things"

    def _state(self, kind: str, response: dict[str, Any]) -> Iterator[str]:
        if self._id not in (None, response["id"]):
            yield f"{response['id']} in a stream of {self._id}"
        self._id = response["id"]
        if not response["id"].startswith("resp_"):
            yield f"{response['id']} is no id of a response"
        if kind == "response.created" and self._states:
            yield "a second one"
        if kind == "response.queued" and "response.in_progress" in self._states:
            yield "after it was in progress"
        self._states.append(kind)
        status = response.get("status")
        expected = kind.removeprefix("response.")
        # Somebody asked to stop: no event has that name.
        if expected not in ("created", status) and (kind, status) != ("response.incomplete", "cancelled"):
            yield f"the response is {status}"
        if kind in _TERMINAL:
            yield from self._final(kind, response)

    def _final(self, kind: str, response: dict[str, Any]) -> Iterator[str]:
        if kind == "response.failed":
            if not response.get("error"):
                yield "no error"
        elif response["status"] != "cancelled":
            if not response.get("usage"):
                yield "no usage"
            if (kind == "response.incomplete") != bool(response.get("incomplete_details")):
                yield "incomplete_details are there exactly where it is incomplete"
        if not self._resumed:
            broken = kind == "response.failed" or response["status"] == "cancelled"
            yield from self._items.final(response["output"], broken=broken)
