"""A prompt with pictures as numbers: where they stand, which of them are equal, and what is told of them."""

from __future__ import annotations

import pytest

from dragoman.core.request import TextPrompt
from dragoman.engines.base import MAX_PIXELS, EngineImage
from dragoman.engines.eyes import Patch
from dragoman.engines.option_values import BadOption
from dragoman.engines.pictured import Placed, read_pictured, read_places, shown, words
from dragoman.protocol.frames import Image

RED = EngineImage(width=1, height=1, rgb=b"\xff\0\0")
BLUE = EngineImage(width=1, height=1, rgb=b"\0\0\xff")


def tokenize(prompt: TextPrompt) -> list[int]:
    """A code point a token, after a 1 where something is added; plain text is shifted by a thousand."""
    plain = {at for start, end in prompt.plain for at in range(start, end)}
    text = [ord(character) + 1000 * (at in plain) for at, character in enumerate(prompt.text)]
    return [1, *text] if prompt.add_special else text


def look(image: EngineImage) -> list[int | Patch]:
    """A begin, two patches, an end."""
    return [91, Patch(2, (image, "left")), Patch(1, (image, "right")), 93]


def read(text: str, *pictures: Placed, **options):
    return read_pictured(TextPrompt(text=text, **options), pictures, tokenize, look)


@pytest.mark.seeds("S153")
def test_a_picture_stands_between_the_characters_with_what_the_model_wants_around_it():
    pictured = read("ab", Placed(at=1, image=RED))
    assert shown(pictured.tokens, 500) == (1, 97, 91, 500, 500, 500, 93, 98)
    assert [(each.start, each.end, each.content.content) for each in pictured.stretches] == [
        (3, 5, (RED, "left")),
        (5, 6, (RED, "right")),
    ]
    assert words(pictured.tokens) == (1, 97, 91, 93, 98)


def test_what_a_tokenizer_adds_stands_once_before_all_of_it_also_before_a_picture():
    assert shown(read("a", Placed(at=0, image=RED), Placed(at=1, image=RED)).tokens, 0)[:2] == (1, 91)
    assert read("a", Placed(at=0, image=RED), Placed(at=1, image=RED)).tokens.count(1) == 1


def test_plain_text_is_plain_on_both_sides_of_a_picture():
    pictured = read("abcd", Placed(at=2, image=RED), plain=((1, 3),), add_special=False)
    assert words(pictured.tokens) == (97, 1098, 91, 93, 1099, 100)


def test_equal_pictures_have_equal_numbers_and_different_ones_or_parts_never_have():
    first, again, other = (read("a", Placed(at=0, image=image)).tokens for image in (RED, RED, BLUE))
    assert first == again
    assert not {token for token in first if token < 0} & set(other)
    left, right = first[2], first[4]
    assert left != right


def test_the_shape_of_a_picture_is_part_of_what_is_seen():
    pixels = bytes(range(12))
    assert (
        EngineImage(width=4, height=1, rgb=pixels).digest
        != EngineImage(width=1, height=4, rgb=pixels).digest
        != EngineImage(width=2, height=2, rgb=pixels).digest
    )


@pytest.mark.parametrize(("width", "height", "size"), [(0, 1, 0), (1, 1, 4), (-1, -1, 3), (MAX_PIXELS + 1, 1, 3)])
def test_bytes_that_are_no_picture_of_that_size_are_none(width, height, size):
    with pytest.raises(ValueError, match="no picture"):
        EngineImage(width=width, height=height, rgb=bytes(size))


def frame(rgb: bool = True) -> Image:
    return Image(id=1, payload=b"\xff\0\0", grid_h=1, grid_w=1, rgb=rgb)


def test_places_are_bytes_on_the_wire_and_characters_here():
    placed = read_places("é€x".encode(), {"images": [2, 5, 6]}, [frame()] * 3)
    assert placed == (Placed(at=1, image=RED), Placed(at=2, image=RED), Placed(at=3, image=RED))


@pytest.mark.parametrize(
    ("places", "frames"),
    [
        ([], [frame()]),
        ([0], []),
        ([1], [frame()]),
        ([7], [frame()]),
        ([-1], [frame()]),
        ([5, 2], [frame()] * 2),
        ([True], [frame()]),
        ([0.0], [frame()]),
        ("0", [frame()]),
        (None, [frame()]),
        ([0], [frame(rgb=False)]),
    ],
)
def test_places_that_are_none_or_not_as_many_as_pictures_are_refused_by_their_key(places, frames):
    with pytest.raises(BadOption, match="^images "):
        read_places("é€x".encode(), {"images": places}, frames)
