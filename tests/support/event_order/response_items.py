"""How the output items of a response come about: each is added, grows and is done, and the response has just what was told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_PARTS = {
    "response.content_part": ("content_index", "content"),
    "response.reasoning_summary_part": ("summary_index", "summary"),
}
"""Of the events of a part, the key of its index, and where the item has it."""

_TEXTS = {
    "response.output_text": ("response.content_part", "output_text", "text"),
    "response.refusal": ("response.content_part", "refusal", "refusal"),
    "response.reasoning_text": ("response.content_part", "reasoning_text", "text"),
    "response.reasoning_summary_text": ("response.reasoning_summary_part", "summary_text", "text"),
}
"""Of the events of a text, the part that it grows in, the type of that, and the key of the text in both."""

_ARGUMENTS = {
    "response.function_call_arguments": ("function_call", "arguments"),
    "response.custom_tool_call_input": ("custom_tool_call", "input"),
}
"""Of the events of a call, the item that it grows in, and the key of what grows."""


@dataclass
class _Text:
    """Something that grows until it is done."""

    text: str = ""
    done: bool = False


@dataclass
class _Part(_Text):
    kind: str = ""
    over: bool = False


@dataclass
class _Item:
    start: dict[str, Any]
    done: dict[str, Any] | None = None
    parts: dict[str, list[_Part]] = field(default_factory=lambda: {"content": [], "summary": []})
    growth: _Text = field(default_factory=_Text)


class ItemOrder:
    """All items of one response."""

    def __init__(self) -> None:
        self._items: list[_Item] = []

    def take(self, kind: str, value: dict[str, Any]) -> Iterator[str]:
        """What is wrong with the next event that is about an item."""
        if kind == "response.output_item.added":
            yield from self._added(value)
            return
        index = value.get("output_index", len(self._items))
        if index >= len(self._items):
            yield f"item {index} was not added"
            return
        item = self._items[index]
        if item.done is not None:
            yield f"item {index} is done"
            return
        if kind == "response.output_item.done":
            yield from _finished(item, value["item"])
            return
        if value["item_id"] != item.start["id"]:
            yield f"item {index} is {item.start['id']}, not {value['item_id']}"
        group, _, what = kind.rpartition(".")
        if group in _PARTS:
            yield from _part(item, group, what, value)
        elif group in _TEXTS:
            yield from _text(item, group, what, value)
        elif group in _ARGUMENTS:
            yield from _arguments(item, group, what, value)
        else:
            yield "an event that this server has no use for"

    def final(self, output: list[dict[str, Any]], *, broken: bool) -> Iterator[str]:
        """What the response at its end has that was not told. ``broken``: an item may have been left as it was."""
        told = [item.done for item in self._items]
        left = broken and told[-1:] == [None]
        if None in (told[:-1] if left else told):
            yield "an item is not done"
        elif (output[: len(told) - 1], len(output)) != (told[:-1], len(told)) if left else output != told:
            yield "the output is not what was told"
        for item in output:
            if item.get("status") == "in_progress":
                yield f"{item['id']} is in progress still"

    def _added(self, value: dict[str, Any]) -> Iterator[str]:
        item = value["item"]
        if value["output_index"] != len(self._items):
            yield f"index {value['output_index']} in the place of {len(self._items)}"
        if self._items and self._items[-1].done is None:
            yield "another item is open"
        if item["id"] in {other.start["id"] for other in self._items}:
            yield f"{item['id']} is the id of another item, too"
        if item.get("status", "in_progress") != "in_progress":
            yield "an item that is over when it begins"
        if item.get("content") or item.get("summary") or item.get("arguments") or item.get("input"):
            yield "an item that begins with something in it"
        self._items.append(_Item(item))


def _finished(item: _Item, whole: dict[str, Any]) -> Iterator[str]:
    item.done = whole
    for key in ("id", "type", "call_id", "name", "namespace"):
        if whole.get(key) != item.start.get(key):
            yield f"its {key} has changed"
    if whole.get("status") not in ("completed", "incomplete"):
        yield f"an item that is done is {whole.get('status')}"
    for place, parts in item.parts.items():
        if any(not part.over for part in parts):
            yield f"a part of its {place} is open"
        texts = [part.get("text", part.get("refusal")) for part in whole.get(place) or ()]
        if texts != [part.text for part in parts]:
            yield f"its {place} is not what was told"
    for call, key in _ARGUMENTS.values():
        if whole["type"] == call:
            yield from _called(item.growth, whole, key)


def _called(growth: _Text, whole: dict[str, Any], key: str) -> Iterator[str]:
    """A call that the budget cut is done, but its arguments are not."""
    if whole[key] != growth.text:
        yield f"its {key} is not what was told"
    if whole.get("status") == "completed" and not growth.done:
        yield f"its {key} was not done"


def _part(item: _Item, group: str, what: str, value: dict[str, Any]) -> Iterator[str]:
    key, place = _PARTS[group]
    parts, index, told = item.parts[place], value[key], value["part"]
    text = told.get("text", told.get("refusal"))
    if what == "added":
        if index != len(parts):
            yield f"part {index} in the place of {len(parts)}"
        if parts and not parts[-1].over:
            yield "another part is open"
        if text:
            yield "a part that begins with something in it"
        parts.append(_Part(kind=told["type"]))
        return
    part = _open_part(parts, index)
    if part is None:
        yield f"part {index} is not open"
        return
    part.over = True
    if not part.done:
        yield "a part whose text was not done"
    if (told["type"], text) != (part.kind, part.text):
        yield "a part that is not what was told"


def _text(item: _Item, group: str, what: str, value: dict[str, Any]) -> Iterator[str]:
    holder, kind, key = _TEXTS[group]
    index_key, place = _PARTS[holder]
    part = _open_part(item.parts[place], value[index_key])
    if part is None:
        yield f"part {value[index_key]} is not open"
        return
    if part.kind != kind:
        yield f"{group} in a part of {part.kind}"
    yield from _grow(part, what, value, key)


def _arguments(item: _Item, group: str, what: str, value: dict[str, Any]) -> Iterator[str]:
    kind, key = _ARGUMENTS[group]
    if item.start["type"] != kind:
        yield f"{group} in a {item.start['type']}"
    if "name" in value and value["name"] != item.start.get("name"):
        yield "another name"
    yield from _grow(item.growth, what, value, key)


def _grow(text: _Text, what: str, value: dict[str, Any], key: str) -> Iterator[str]:
    if text.done:
        yield "after it was done"
    if what == "delta":
        text.text += value["delta"]
    elif what == "done":
        text.done = True
        if value[key] != text.text:
            yield f"done with a {key} that is not its deltas"


def _open_part(parts: list[_Part], index: int) -> _Part | None:
    return parts[index] if index < len(parts) and not parts[index].over else None
