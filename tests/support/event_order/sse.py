"""Server-sent events as a reader takes them from the bytes of a whole stream (WHATWG HTML, 9.2.6), and what no stream may do."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

DONE = "[DONE]"


@dataclass(frozen=True, slots=True)
class Event:
    """One event that is dispatched. ``value`` is its data, read; ``DONE`` where that is no JSON but the mark."""

    name: str | None
    value: Any


def read(stream: bytes) -> tuple[list[Event], list[str]]:
    """The events of a stream, and what is wrong with their framing. Comments are no events."""
    events: list[Event] = []
    wrong: list[str] = []
    try:
        text = stream.decode()
    except UnicodeDecodeError as error:
        return [], [f"not UTF-8: {error}"]
    if text and not text.endswith("\n\n"):
        wrong.append("the last event has no empty line behind it, so nobody gets it")
    for block in text.removesuffix("\n\n").split("\n\n") if text else []:
        event = _event(block, wrong)
        if event is not None:
            events.append(event)
    return events, wrong


def _event(block: str, wrong: list[str]) -> Event | None:
    name, data = None, []
    for line in block.split("\n"):
        field, _, value = line.partition(":")
        match field:
            case "":
                continue  # a comment
            case "event":
                name = value.removeprefix(" ")
            case "data":
                data.append(value.removeprefix(" "))
            case _:
                wrong.append(f"a line that is no field: {line!r}")
    if not data:
        return None
    whole = "\n".join(data)
    if whole == DONE:
        return Event(name, DONE)
    try:
        return Event(name, json.loads(whole))
    except ValueError:
        wrong.append(f"data that is no JSON: {whole!r}")
        return None
