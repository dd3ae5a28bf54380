"""The events of one response: named, and numbered from 0 without a gap (wire.md 3, peers.md 90).

Whatever makes an event takes its number by that, so it must be sent, and in that order.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Final

from dragoman.core.json import Json, JsonObject
from dragoman.surfaces.base import ServerEvent
from dragoman.surfaces.openai_stream import encode


class EventSequence:
    """Makes events, and counts them."""

    def __init__(self) -> None:
        self.take: Final[Callable[[], int]] = count().__next__
        """Takes the number of an event that is made elsewhere."""

    def make(self, kind: str, **fields: Json) -> ServerEvent:
        """The next event. Its type is said twice, as the name of the event and in its data: clients read one of the two."""
        return ServerEvent(encode({"type": kind, "sequence_number": self.take(), **fields}), kind)


class ItemEvents:
    """The events of one output item, which all say which one that is."""

    def __init__(self, sequence: EventSequence, item_id: str, index: int) -> None:
        self._sequence = sequence
        self._index = index
        self._about: dict[str, Json] = {"item_id": item_id, "output_index": index}

    def added(self, item: JsonObject) -> ServerEvent:
        """The item begins."""
        return self._sequence.make("response.output_item.added", output_index=self._index, item=item)

    def done(self, item: JsonObject) -> ServerEvent:
        """The item will not change again."""
        return self._sequence.make("response.output_item.done", output_index=self._index, item=item)

    def make(self, kind: str, **fields: Json) -> ServerEvent:
        """Something inside of it."""
        return self._sequence.make(kind, **self._about, **fields)

    def deltas(self, kind: str, **fields: Json) -> Deltas:
        """Events of which only the text changes."""
        return Deltas(self._sequence, kind, {**self._about, **fields})


class Deltas:
    """Events of one kind that differ in their number and in ``delta``; the rest is encoded once, for this is done per token."""

    __slots__ = ("_after", "_before", "_between", "_kind", "_take")

    _HOLE: Final = "\0"

    def __init__(self, sequence: EventSequence, kind: str, fields: JsonObject) -> None:
        event = {"type": kind, "sequence_number": self._HOLE, "delta": self._HOLE, **fields}
        # The first matches: what follows the holes is not looked at, whatever it is.
        self._before, self._between, self._after = encode(event).split(encode(self._HOLE), 2)
        self._take = sequence.take
        self._kind = kind

    def make(self, text: str) -> ServerEvent:
        """The next event, with this text."""
        data = b"%b%d%b%b%b" % (self._before, self._take(), self._between, encode(text), self._after)
        return ServerEvent(data, self._kind)
