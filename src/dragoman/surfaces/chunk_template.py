"""An event of which only one string changes from token to token; all else is encoded once."""

from __future__ import annotations

from typing import Final

import msgspec

from dragoman.core.json import JsonObject
from dragoman.surfaces.base import ServerEvent

_encode: Final = msgspec.json.Encoder().encode


class ChunkTemplate:
    """An event that waits for its string.

    It is built from the whole data, with ``HOLE`` in the place of the string, so that the fast events cannot have another shape than
    the others. The string may stand in several ``holes``; ``event`` names the event, where it has a name.
    """

    HOLE: Final = "\0"

    __slots__ = ("_event", "_parts")

    def __init__(self, chunk: JsonObject, *, holes: int = 1, event: str | None = None) -> None:
        # The last matches: what stands before them came from the client or the operator, what follows is ours.
        self._parts = _encode(chunk).rsplit(_encode(self.HOLE), holes)
        self._event = event

    def fill(self, text: str) -> ServerEvent:
        """The event with this text."""
        return ServerEvent(_encode(text).join(self._parts), self._event)
