"""A prompt with pictures as a row of numbers: tokens where there is text, and one number for each position of a picture.

Such a number is made of the picture itself and lies below zero, where no token is. So the prefix cache needs to know nothing of
pictures: equal ones share, different ones never do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from dragoman.core.request import TextPrompt
from dragoman.engines.backend import Eyes, Patch, Vocabulary
from dragoman.engines.base import EngineImage
from dragoman.scheduler.sequence import Stretch


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictured:
    """``tokens`` has a number for every position; ``stretches`` are those of pictures, with a ``Patch`` each."""

    tokens: tuple[int, ...]
    stretches: tuple[Stretch, ...] = ()


def read_pictured(
    prompt: TextPrompt, places: Sequence[int], images: Sequence[EngineImage], vocabulary: Vocabulary, eyes: Eyes | None
) -> Pictured:
    """``places`` are the characters before which the images stand, in order. Raises ``BadImage``, and ``ValueError`` for bad places."""
    if not images or eyes is None:
        return Pictured(tokens=tuple(vocabulary.tokenize(prompt)))
    tokens: list[int] = []
    stretches: list[Stretch] = []
    for piece, image in zip(_pieces(prompt, places), (*images, None), strict=True):
        tokens += vocabulary.tokenize(piece)
        for index, part in enumerate(() if image is None else eyes.look(image)):
            if isinstance(part, Patch):
                assert image is not None
                stretches.append(Stretch(start=len(tokens), end=len(tokens) + part.positions, content=part))
                tokens += [_number(image.digest, index)] * part.positions
            else:
                tokens.append(part)
    return Pictured(tokens=tuple(tokens), stretches=tuple(stretches))


def words(tokens: Sequence[int]) -> tuple[int, ...]:
    """The tokens alone: what was said, for whoever counts words."""
    return tuple(token for token in tokens if token >= 0)


def _number(digest: str, index: int) -> int:
    """Of the ``index``-th part of a picture. All of the hash, so that nobody can find two pictures with one number."""
    return -1 - int.from_bytes(sha256(f"{digest} {index}".encode()).digest())


def _pieces(prompt: TextPrompt, places: Sequence[int]) -> list[TextPrompt]:
    """The text between the places, each piece with its plain ranges; what a tokenizer adds around a text stands before the first."""
    pieces: list[TextPrompt] = []
    for start, end in zip((0, *places), (*places, len(prompt.text)), strict=True):
        if not start <= end <= len(prompt.text):
            raise ValueError(f"no place for a picture: {end}")
        plain = tuple(
            (max(first, start) - start, min(last, end) - start)
            for first, last in prompt.plain
            if first < end and last > start
        )
        text = prompt.text[start:end]
        pieces.append(replace(prompt, text=text, plain=plain, images=(), add_special=prompt.add_special and not pieces))
    return pieces
