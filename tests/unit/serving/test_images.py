"""Files are decoded into what was drawn into them; Pillow writes them, so colours are exact but for JPEG's rounding."""

from __future__ import annotations

import struct
import subprocess
import sys
import zlib
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.request import ImagePart
from dragoman.engines.base import MAX_PIXELS
from dragoman.serving.images import decode
from support.pictures import file, written

PLACE = "messages.0.content.0.image_url.url"
RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)


def png(data: bytes) -> ImagePart:
    return ImagePart(data=data, media_type="image/png", place=PLACE)


def jpeg(data: bytes) -> ImagePart:
    return ImagePart(data=data, media_type="image/jpeg", place=PLACE)


def refusal(picture: ImagePart) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        decode(picture)
    assert caught.value.param == PLACE
    return caught.value


def row(*colours: tuple[int, ...], mode: str = "RGB") -> Image.Image:
    image = Image.new(mode, (len(colours), 1))
    for x, colour in enumerate(colours):
        image.putpixel((x, 0), colour)
    return image


def flat(*colours: tuple[int, ...]) -> bytes:
    return bytes(value for colour in colours for value in colour)


def png_of_size(width: int, height: int) -> bytes:
    """A file that is valid up to its header, and promises more than it holds."""
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(b"\0" * 10))]
    written = b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + written


class TestWhatIsShown:
    def test_pixels_come_in_rows_from_the_top_three_bytes_each(self):
        image = Image.new("RGB", (2, 2))
        for place, colour in {(0, 0): RED, (1, 0): GREEN, (0, 1): BLUE, (1, 1): WHITE}.items():
            image.putpixel(place, colour)
        decoded = decode(png(written(image)))
        assert (decoded.width, decoded.height, decoded.rgb) == (2, 2, flat(RED, GREEN, BLUE, WHITE))

    def test_a_jpeg_is_its_picture(self):
        decoded = decode(jpeg(file((16, 8), (200, 30, 30), kind="JPEG")))
        assert (decoded.width, decoded.height) == (16, 8)
        assert all(abs(got - drawn) <= 4 for got, drawn in zip(decoded.rgb, bytes((200, 30, 30)) * 128, strict=True))

    def test_what_is_transparent_is_white(self):
        image = row((*RED, 255), (*RED, 0), (0, 0, 0, 0), mode="RGBA")
        assert decode(png(written(image))).rgb == flat(RED, WHITE, WHITE)

    def test_a_transparent_colour_of_a_palette_is_white_too(self):
        image = row(RED, BLUE).quantize(2)
        transparent = image.getpixel((0, 0))
        assert decode(png(written(image, transparency=transparent))).rgb == flat(WHITE, BLUE)

    @pytest.mark.parametrize("mode", ["L", "1", "P"])
    def test_grey_and_palettes_become_colours(self, mode: str):
        image = row((0, 0, 0), WHITE).convert(mode)
        assert decode(png(written(image))).rgb == flat((0, 0, 0), WHITE)

    def test_sixteen_bits_of_grey_become_eight(self):
        """The high byte: 0x8000 is a middle grey, and not white."""
        image = Image.frombytes("I;16", (3, 1), struct.pack("<3H", 0, 0x8000, 0xFFFF))
        assert decode(png(written(image))).rgb == flat((0, 0, 0), (128, 128, 128), WHITE)

    def test_cmyk_becomes_colours(self):
        decoded = decode(jpeg(written(Image.new("CMYK", (8, 8), (0, 0, 0, 0)), "JPEG")))
        assert set(decoded.rgb) == {255}

    def test_a_photograph_stands_upright(self):
        """Exif's orientation 6: what was stored is turned a quarter to the right to be seen."""
        exif = Image.Exif()
        exif[0x0112] = 6
        assert decode(png(written(row(RED, BLUE), exif=exif))).rgb == flat(RED, BLUE)
        assert (decode(png(written(row(RED, BLUE), exif=exif))).width) == 1

    def test_damaged_exif_data_does_not_matter(self):
        data = written(row(RED, BLUE), exif=b"Exif\0\0MM\0*\0\0\xff\xff nonsense")
        assert decode(png(data)).rgb == flat(RED, BLUE)

    def test_of_an_animation_the_first_frame_is_shown(self):
        data = written(row(RED), save_all=True, append_images=[row(BLUE)])
        assert decode(png(data)).rgb == flat(RED)


class TestSize:
    @pytest.mark.parametrize("kind", ["PNG", "JPEG"])
    def test_a_large_picture_is_scaled_to_what_an_engine_takes_and_keeps_its_shape(self, kind: str):
        part = png if kind == "PNG" else jpeg
        decoded = decode(part(file((6000, 3000), RED, kind=kind)))
        assert 0.99 * MAX_PIXELS < decoded.width * decoded.height <= MAX_PIXELS
        assert abs(decoded.width / decoded.height - 2) < 0.01

    def test_what_is_half_transparent_is_scaled_without_a_rim(self):
        """A transparent black beside an opaque red must not darken it: between red and white, green and blue are equal, and red is full."""
        image = Image.new("RGBA", (3000, 3000), (0, 0, 0, 0))
        image.paste((255, 0, 0, 255), (0, 0, 1501, 3000))
        decoded = decode(png(written(image)))
        assert min(decoded.rgb[0::3]) >= 253
        assert decoded.rgb[1::3] == decoded.rgb[2::3]

    @pytest.mark.parametrize(("mode", "most"), [("RGBA", 200), ("RGB", 140)])
    def test_a_large_file_takes_little_more_than_its_own_pixels(self, mode: str, most: int):
        """Pillow has four bytes for a pixel: 16 mebipixels are 64 MiB, once more to scale what is transparent, and 36 for the result."""
        script = "import sys, resource\nfrom dragoman.core.request import ImagePart\nfrom dragoman.serving.images import decode\n"
        script += "part = ImagePart(data=sys.stdin.buffer.read(), media_type='image/png')\n"
        script += "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\ndecode(part)\n"
        script += "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)"
        ran = subprocess.run(
            [sys.executable, "-c", script], input=file((4096, 4096), 0, mode=mode), capture_output=True, check=True
        )
        assert int(ran.stdout) < most

    def test_one_that_just_fits_is_left_alone(self):
        assert MAX_PIXELS // 2048 == 2730
        decoded = decode(png(file((2048, 2730))))
        assert (decoded.width, decoded.height) == (2048, 2730)

    @pytest.mark.parametrize("size", [(8193, 8192), (2**31 - 1, 2**31 - 1), (20_000, 20_000)])
    def test_a_bomb_is_refused_by_what_its_header_says(self, size: tuple[int, int]):
        """8192 by 8192 are 64 mebipixels."""
        error = refusal(png(png_of_size(*size)))
        assert error.code is Code.IMAGE_TOO_LARGE
        assert f"{size[0]} by {size[1]}" in error.message

    @pytest.mark.parametrize(("size", "allowed"), [((200, 1), True), ((201, 1), False), ((1, 201), False)])
    def test_a_thread_is_refused(self, size: tuple[int, int], allowed: bool):
        if allowed:
            assert decode(png(file(size))).width == size[0]
        else:
            assert refusal(png(file(size))).code is Code.INVALID_IMAGE


class TestWhatIsNone:
    @pytest.mark.parametrize(
        "picture",
        [
            png(b"\x89PNG\r\n\x1a\n"),
            png(b"\x89PNG\r\n\x1a\n" + b"garbage" * 100),
            png(png_of_size(4, 4)),
            png(png_of_size(0, 0)),
            png(file((64, 64))[:-30]),
            jpeg(b"\xff\xd8\xff"),
            jpeg(b"\xff\xd8\xff\xe0" + bytes(100)),
            jpeg(file((64, 64), kind="JPEG")[:-40]),
        ],
    )
    def test_a_file_that_only_begins_like_a_picture_is_refused_by_its_place(self, picture: ImagePart):
        """Peers 126."""
        error = refusal(picture)
        assert error.code is Code.INVALID_IMAGE
        assert PLACE in error.message

    @given(data=st.data())
    @settings(max_examples=150, deadline=None)
    def test_a_damaged_file_is_a_picture_or_refused_and_nothing_else(self, data):
        kind, part = data.draw(st.sampled_from([("PNG", png), ("JPEG", jpeg)]))
        original = file((9, 7), kind=kind)
        at = data.draw(st.integers(3, len(original) - 1))
        damaged = original[:at] + data.draw(st.binary(max_size=8)) + original[at + data.draw(st.integers(0, 8)) :]
        with suppress(InvalidRequest):
            decoded = decode(part(damaged))
            assert len(decoded.rgb) == 3 * decoded.width * decoded.height
