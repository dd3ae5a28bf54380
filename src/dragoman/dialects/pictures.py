"""Lets a template write pictures as if they were text, and finds where it put them.

Each family has its own words around a picture, and the engine writes them, since it knows how many tokens stand between. So a picture
is one character for the template, one that occurs nowhere else, and each picture has its own. None of them is left in the prompt.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from types import MappingProxyType

from dragoman.core.request import ImagePart, Message, Part, TextPart, TextPrompt
from dragoman.dialects.failures import failed


@dataclass(frozen=True, slots=True)
class StoodIn:
    """Messages of text alone, and the picture for which each stand-in stands."""

    messages: tuple[Message, ...]
    pictures: Mapping[str, ImagePart]

    def parts(self, text: str) -> tuple[Part, ...]:
        """The text with the pictures back in their places."""
        parts: list[Part] = []
        for piece in self._seam.split(text):
            if piece in self.pictures:
                parts.append(self.pictures[piece])
            elif piece:
                parts.append(TextPart(text=piece))
        return tuple(parts)

    def prompt(self, written: TextPrompt) -> TextPrompt:
        """The prompt without stand-ins, and with the places where they stood. A picture that was not written is not there."""
        pieces = self._seam.split(written.text)  # texts, and a stand-in between each two
        places = list(accumulate(map(len, pieces[:-1:2])))
        gone = [place + index for index, place in enumerate(places)]
        return replace(
            written,
            text="".join(pieces[::2]),
            plain=tuple((_moved(first, gone), _moved(last, gone)) for first, last in written.plain),
            images=tuple(zip(places, map(self.pictures.__getitem__, pieces[1::2]), strict=True)),
        )

    @property
    def _seam(self) -> re.Pattern[str]:
        return re.compile(f"([{''.join(self.pictures)}])" if self.pictures else "(?!)")


def stand_in(messages: Sequence[Message], free: Iterator[str]) -> StoodIn:
    """The messages with a character from ``free`` in the place of each picture. Raises ``InvalidRequest`` where there are too few."""
    pictures: dict[str, ImagePart] = {}

    def text_of(part: Part) -> TextPart:
        if isinstance(part, TextPart):
            return part
        character = next(free, None)
        if character is None:
            raise failed("the text uses every character that could stand for a picture")
        pictures[character] = part
        return TextPart(text=character)

    texts = tuple(replace(message, parts=tuple(map(text_of, message.parts))) for message in messages)
    return StoodIn(texts, MappingProxyType(pictures))


def shows_pictures(messages: Sequence[Message]) -> bool:
    """Whether there is anything to stand in for."""
    return any(message.images for message in messages)


def loses_pictures(messages: Sequence[Message], prompt: TextPrompt) -> bool:
    """Whether the ``prompt`` that a template made of the messages leaves one out.

    They are counted, for a client may show the same one twice.
    """
    return len(prompt.images) < sum(len(message.images) for message in messages)


def _moved(place: int, gone: Sequence[int]) -> int:
    """Where a place is once the characters at ``gone``, which are in order, have gone."""
    return place - bisect_left(gone, place)
