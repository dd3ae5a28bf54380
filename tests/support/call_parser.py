"""A parser of calls small enough to read: ``[name|arguments]`` is a call, everything else is text."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.dialects.base import CallArguments, CallBegun, CallEnded, Channel, Parsed, Piece


class CallParser:
    def __init__(self) -> None:
        self._state = "text"
        self._name = ""

    def feed(self, text: str, *, special: bool) -> Sequence[Parsed]:
        if special:
            return (Piece(Channel.HIDDEN, text),)
        parsed: list[Parsed] = []
        for character in text:
            hidden = Piece(Channel.HIDDEN, character)
            match self._state, character:
                case "text", "[":
                    self._state, self._name = "name", ""
                    parsed.append(hidden)
                case "text", _:
                    parsed.append(Piece(Channel.TEXT, character))
                case "name", "|":
                    self._state = "arguments"
                    parsed += (hidden, CallBegun(self._name))
                case "name", _:
                    self._name += character
                    parsed.append(hidden)
                case _, "]":
                    self._state = "text"
                    parsed += (hidden, CallEnded())
                case _:
                    parsed += (hidden, CallArguments(character))
        return parsed

    def finish(self) -> Sequence[Parsed]:
        return ()
