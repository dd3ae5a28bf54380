"""A parser small enough to read, with all that a family's may do: ``<r>…</r>`` is reasoning, ``<t>…</t>`` is never shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dragoman.core.text import held_back
from dragoman.dialects.base import Channel, Piece

TAGS = {
    Channel.TEXT: {"<r>": Channel.REASONING, "<t>": Channel.HIDDEN},
    Channel.REASONING: {"</r>": Channel.TEXT},
    Channel.HIDDEN: {"</t>": Channel.TEXT},
}


class MarkupParser:
    def __init__(self) -> None:
        self._channel = Channel.TEXT
        self._held = ""

    def feed(self, text: str, *, special: bool) -> Sequence[Piece]:
        if special:
            return (*self.finish(), Piece(Channel.HIDDEN, text))
        self._held += text
        return tuple(piece for piece in self._decided() if piece.text)

    def finish(self) -> Sequence[Piece]:
        held, self._held = self._held, ""
        return (Piece(self._channel, held),) if held else ()

    def _decided(self) -> Iterator[Piece]:
        while found := [(self._held.find(tag), tag) for tag in TAGS[self._channel] if tag in self._held]:
            at, tag = min(found)
            yield Piece(self._channel, self._held[:at])
            yield Piece(Channel.HIDDEN, tag)
            self._channel = TAGS[self._channel][tag]
            self._held = self._held[at + len(tag) :]
        certain = len(self._held) - held_back(self._held, TAGS[self._channel])
        yield Piece(self._channel, self._held[:certain])
        self._held = self._held[certain:]
