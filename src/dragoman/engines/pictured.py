"""A prompt with pictures as a row of numbers: tokens where there is text, and one number for each position of a picture.

Such a number is made of the picture itself and lies below zero, where no token is. So the prefix cache needs to know nothing of
pictures: equal ones share, different ones never do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TypeAlias

from dragoman.core.json import JsonObject
from dragoman.core.request import TextPrompt
from dragoman.engines.base import EngineImage
from dragoman.engines.eyes import Patch
from dragoman.engines.option_values import BadOption
from dragoman.protocol.frames import Image
from dragoman.scheduler.sequence import Stretch

Tokenize: TypeAlias = Callable[[TextPrompt], Sequence[int]]

Look: TypeAlias = Callable[[EngineImage], Sequence[int | Patch]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A picture, and the character of the text before which it stands."""

    at: int
    image: EngineImage


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictured:
    """``tokens`` has a number for every position; ``stretches`` are those of pictures, with a ``Patch`` each."""

    tokens: tuple[int, ...]
    stretches: tuple[Stretch, ...] = ()


def read_places(payload: bytes, options: JsonObject, frames: Sequence[Image]) -> tuple[Placed, ...]:
    """The frames of a command at the bytes of its text that ``images`` names. Raises ``BadOption`` where they do not match."""
    key = "images"
    places = options.get(key, [])
    if not isinstance(places, list) or len(places) != len(frames) or not all(frame.rgb for frame in frames):
        raise BadOption(key, "is not one place for each picture of pixels")
    placed = []
    byte = character = 0
    for place, frame in zip(places, frames, strict=True):
        if type(place) is not int or not byte <= place <= len(payload):
            raise BadOption(key, "has a place outside the text, or out of order")
        try:
            character += len(payload[byte:place].decode())
        except UnicodeDecodeError:
            raise BadOption(key, "has a place within a character") from None
        byte = place
        image = EngineImage(width=frame.grid_w, height=frame.grid_h, rgb=frame.payload)
        placed.append(Placed(at=character, image=image))
    return tuple(placed)


def read_pictured(prompt: TextPrompt, pictures: Sequence[Placed], tokenize: Tokenize, look: Look) -> Pictured:
    """The numbers of a prompt. Raises ``BadImage`` as ``look`` does."""
    if not pictures:
        return Pictured(tokens=tuple(tokenize(prompt)))
    tokens: list[int] = []
    stretches: list[Stretch] = []
    for piece, picture in zip(_pieces(prompt, pictures), (*pictures, None), strict=True):
        tokens += tokenize(piece)
        if picture is None:
            break
        digest = picture.image.digest
        for index, part in enumerate(look(picture.image)):
            if isinstance(part, int):
                tokens.append(part)
            else:
                stretches.append(Stretch(start=len(tokens), end=len(tokens) + part.positions, content=part))
                tokens += [_number(digest, index)] * part.positions
    return Pictured(tokens=tuple(tokens), stretches=tuple(stretches))


def words(tokens: Sequence[int]) -> tuple[int, ...]:
    """The tokens alone: what was said, for whoever counts words."""
    return tuple(token for token in tokens if token >= 0)


def shown(tokens: Sequence[int], vocabulary_size: int) -> tuple[int, ...]:
    """As a TOKENS frame tells them: each position of a picture is the first number that is no token."""
    return tuple(token if token >= 0 else vocabulary_size for token in tokens)


def _number(digest: str, index: int) -> int:
    """Of the ``index``-th part of a picture. All of the hash, so that nobody can find two pictures with one number."""
    return -1 - int.from_bytes(sha256(f"{digest} {index}".encode()).digest())


def _pieces(prompt: TextPrompt, pictures: Sequence[Placed]) -> list[TextPrompt]:
    """The text between the pictures, each piece with its plain ranges; what a tokenizer adds around a text stands before the first."""
    places = [picture.at for picture in pictures]
    pieces: list[TextPrompt] = []
    for start, end in zip((0, *places), (*places, len(prompt.text)), strict=True):
        plain = tuple(
            (max(first, start) - start, min(last, end) - start)
            for first, last in prompt.plain
            if first < end and last > start
        )
        text = prompt.text[start:end]
        pieces.append(replace(prompt, text=text, plain=plain, images=(), add_special=prompt.add_special and not pieces))
    return pieces
