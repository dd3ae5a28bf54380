"""How a stream is checked: its events go one by one through the order of their contract, which says what is wrong with each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Protocol

from pydantic import TypeAdapter, ValidationError

from support.event_order.sse import Event, read


class Order(Protocol):
    """What one contract allows, and how far a stream has come in it."""

    def take(self, event: Event) -> Iterator[str]:
        """What is wrong with the next event."""
        ...

    def end(self) -> Iterator[str]:
        """What is still missing when nothing more comes."""
        ...


def violations_of(stream: bytes, order: Order) -> list[str]:
    """Everything that is wrong with a whole stream; nothing where it is sound."""
    events, wrong = read(stream)
    for place, event in enumerate(events):
        kind = event.value.get("type", "data") if isinstance(event.value, dict) else event.value
        wrong += [f"event {place} ({kind}): {what}" for what in order.take(event)]
    return [*wrong, *order.end()]


def mismatches(value: Any, official: TypeAdapter[Any]) -> list[str]:
    """Where a value is not of the type that an SDK has for it. Of a union, the member is meant that has its ``type``."""
    try:
        official.validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        found = [(error["loc"], error["msg"]) for error in error.errors()]
        others = {loc[0] for loc, _ in found if loc[1:] == ("type",)}
        meant = [(loc, what) for loc, what in found if loc[0] not in others] or found
        return [f"not of the official type: {'.'.join(map(str, loc))}: {what}" for loc, what in meant[:3]]
    return []
