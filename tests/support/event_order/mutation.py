"""Whole streams written as lists of events, and small ways to break one."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any, TypeAlias

Events: TypeAlias = list[Any]
"""The data of each event: an object, or ``[DONE]``."""

Break: TypeAlias = Callable[[Events], None]
"""Changes a list of events in place."""


def written(events: Events, *, named: bool) -> bytes:
    """The bytes of a stream, whose events are ``named`` by their type, or not at all."""
    lines = []
    for value in events:
        data = value if isinstance(value, str) else json.dumps(value)
        name = f"event: {value['type']}\n" if named and isinstance(value, dict) else ""
        lines.append(f"{name}data: {data}\n\n")
    return "".join(lines).encode()


def broken(events: Events, *breaks: Break) -> Events:
    """The events after these changes. Values that two of them share are none of one another's any more."""
    changed = json.loads(json.dumps(events))
    for change in breaks:
        change(changed)
    return changed


def drop(place: int) -> Break:
    """Without this event."""

    def change(events: Events) -> None:
        del events[place]

    return change


def put(place: int, *new: Any) -> Break:
    """With new events before this one."""

    def change(events: Events) -> None:
        events[place:place] = deepcopy(list(new))

    return change


def again(place: int) -> Break:
    """With this event twice."""

    def change(events: Events) -> None:
        events.insert(place, deepcopy(events[place]))

    return change


def swap(place: int) -> Break:
    """With this event and the next in each other's place."""

    def change(events: Events) -> None:
        events[place], events[place + 1] = events[place + 1], events[place]

    return change


def edit(place: int, path: str, value: Any) -> Break:
    """With another value at a path such as ``choices.0.delta``."""

    def change(events: Events) -> None:
        *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
        inner = events[place]
        for step in steps:
            inner = inner[step]
        inner[last] = value

    return change


def remove(place: int, path: str) -> Break:
    """Without the key at a path."""

    def change(events: Events) -> None:
        *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
        inner = events[place]
        for step in steps:
            inner = inner[step]
        del inner[last]

    return change
