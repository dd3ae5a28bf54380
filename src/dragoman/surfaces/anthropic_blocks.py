"""The content blocks of a message as they grow: how each is opened, what its deltas are, and what it comes to.

A block is told in three kinds of events: one start, any number of deltas of which only a text changes, one stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol, cast

import msgspec

from dragoman.core.json import Json, JsonObject
from dragoman.surfaces.base import ServerEvent
from dragoman.surfaces.chunk_template import ChunkTemplate
from dragoman.surfaces.partial_json import closed
from dragoman.surfaces.sealed import seal

_encode: Final = msgspec.json.Encoder().encode


def named_event(data: JsonObject) -> ServerEvent:
    """An event of this contract: its name is its type."""
    return ServerEvent(_encode(data), str(data["type"]))


class Content(Protocol):
    """What one block holds. ``opening`` is the block before its first delta."""

    @property
    def opening(self) -> JsonObject:
        """The block as its start has it."""
        ...

    def delta(self, text: str) -> JsonObject | None:
        """The delta that appends this; None where it is not told."""
        ...

    def closing(self, text: str) -> Sequence[JsonObject]:
        """The deltas that come before the stop of a block whose deltas had this text."""
        ...

    def whole(self, text: str) -> JsonObject:
        """The block of a whole message."""
        ...


class Text:
    """What the model says."""

    opening: Final[JsonObject] = {"type": "text", "text": ""}

    def delta(self, text: str) -> JsonObject:
        """More of it."""
        return {"type": "text_delta", "text": text}

    def closing(self, text: str) -> Sequence[JsonObject]:  # noqa: ARG002 -- there is nothing to say of it
        """Nothing."""
        return ()

    def whole(self, text: str) -> JsonObject:
        """As it opens, with its text."""
        return {**self.opening, "text": text}


class Thinking:
    """What the model thinks. ``omitted``: the client sees none of it, and gets it all back to us in the signature."""

    opening: Final[JsonObject] = {"type": "thinking", "thinking": "", "signature": ""}

    def __init__(self, *, omitted: bool) -> None:
        self._omitted = omitted

    def delta(self, text: str) -> JsonObject | None:
        """More of it, if the client sees it."""
        return None if self._omitted else {"type": "thinking_delta", "thinking": text}

    def closing(self, text: str) -> Sequence[JsonObject]:
        """One signature, just before the stop: the SDKs' readers keep the last one they get."""
        return ({"type": "signature_delta", "signature": self._signature(text)},)

    def whole(self, text: str) -> JsonObject:
        """With its signature."""
        shown = "" if self._omitted else text
        return {**self.opening, "thinking": shown, "signature": self._signature(text)}

    def _signature(self, text: str) -> str:
        """A thought that the client has needs no more than a mark that it is ours: what it sends is what the model reads."""
        return seal(text if self._omitted else "")


class ToolUse:
    """A call of a tool, whose input comes as JSON text."""

    def __init__(self, id_: str, name: str) -> None:
        self.opening: Final[JsonObject] = {"type": "tool_use", "id": id_, "name": name, "input": {}}

    def delta(self, text: str) -> JsonObject:
        """More of the text; all of it joined is the input."""
        return {"type": "input_json_delta", "partial_json": text}

    def closing(self, text: str) -> Sequence[JsonObject]:  # noqa: ARG002 -- there is nothing to say of it
        """Nothing."""
        return ()

    def whole(self, text: str) -> JsonObject:
        """With the input as the model wrote it: parsed, some numbers and escapes of JSON could not be written again.

        The input must be an object. So of a call that the budget cut, it is what was certain by then (S57).
        """
        return {**self.opening, "input": cast("Json", msgspec.Raw(closed(text)))}


class Block:
    """One block of an answer, and its events. It has its index among all blocks from its start on."""

    __slots__ = ("_content", "_index", "_parts", "_template")

    def __init__(self, index: int, content: Content) -> None:
        self._index = index
        self._content = content
        self._parts: list[str] = []
        delta = content.delta(ChunkTemplate.HOLE)
        self._template = None if delta is None else ChunkTemplate(self._delta(delta), event="content_block_delta")

    def start(self) -> ServerEvent:
        """``content_block_start``."""
        return named_event(
            {"type": "content_block_start", "index": self._index, "content_block": self._content.opening}
        )

    def grow(self, text: str) -> list[ServerEvent]:
        """``content_block_delta``, unless its text is not told."""
        self._parts.append(text)
        return [] if self._template is None else [self._template.fill(text)]

    def stop(self) -> list[ServerEvent]:
        """``content_block_stop``, and what must be said before."""
        last = [named_event(self._delta(delta)) for delta in self._content.closing(self._text)]
        return [*last, named_event({"type": "content_block_stop", "index": self._index})]

    def whole(self) -> JsonObject:
        """The block of a whole message."""
        return self._content.whole(self._text)

    def holds(self, content: Content) -> bool:
        """Whether it goes on with this."""
        return self._content is content

    @property
    def _text(self) -> str:
        return "".join(self._parts)

    def _delta(self, delta: JsonObject) -> JsonObject:
        return {"type": "content_block_delta", "index": self._index, "delta": delta}
